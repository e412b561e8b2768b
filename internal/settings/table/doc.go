// Package table binds variables of the environment to fields. A [Setting] knows its
// variable, how its text is read, what is accepted and how the value is shown; in goes
// a list of them and the environment, out come the fields filled in and an [Origins],
// which knows where each value came from. Bounds stand in one place, the setting, and
// are checked there for the variable and for a value that was set in code.
//
// To add a setting, give the struct a field and the list a line.
package table
