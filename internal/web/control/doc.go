// Package control is what an operator sees and does while a process runs: a [Handler]
// shows a [View] of it, and a [Switch] changes its span groups, for good or until a time
// at which the change reverts by itself. What the groups are, and who may record, is the
// business of the [Groups] that it is given.
package control
