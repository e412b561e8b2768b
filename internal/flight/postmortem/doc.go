// Package postmortem tells from the files of flight recorders what the processes of
// a run were doing when they ended: files go in, a [Report] comes out, as a text of
// one screen, as JSON, or as spans for a backend.
package postmortem
