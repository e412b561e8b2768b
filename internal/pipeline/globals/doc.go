// Package globals keeps what a program takes from OpenTelemetry's global providers
// working over any number of set-ups.
//
// OpenTelemetry's own placeholders hand over to a real provider once and for good. So the
// provider that lens installs globally is one for the whole process: [Meters] and
// [Loggers] pass everything on to the set-up that is active when it is recorded, and drop
// it while there is none. A meter, an instrument, a callback or a logger may be taken
// before the first set-up and kept beyond the last.
//
// [Install] puts the providers in place and [Restore] gives back what they replaced.
package globals
