// Package settings reads the standard OpenTelemetry environment variables into
// plain structs. It is the only place of the library that reads OTEL_*
// variables, apart from the resource attributes that a process hands to its
// children.
//
// Every function takes a look-up in the shape of os.LookupEnv and returns what
// to use, warnings, and, where a text cannot be guessed, an error. What holds for
// all of them:
//   - Unset, empty and blank are the same. Surrounding blanks and one pair of
//     surrounding quotes are taken off.
//   - The variable of a signal comes before the general one. If its text is
//     bad, the default applies, not the general variable.
//   - A number that is not a number, or is not above 0 where it has to be, gives
//     the default and a warning. A number out of its limits is clamped with a
//     warning. Zero never means "for ever" and never means "at once".
//   - Warnings and errors name the variable, its text cut to 40 bytes, and what
//     is accepted. Values of headers and user-info of URLs are never in them.
//
// Everything here is safe for concurrent use and touches nothing outside.
package settings
