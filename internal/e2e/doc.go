// Package e2e tests the library end to end: a program that uses it, a real OpenTelemetry Collector built
// from its Go modules, and the file that the Collector writes. `make e2e` runs it; the first run downloads
// and builds the Collector.
//
// The tests are a module of their own, and the Collector is another, so that neither is in the module
// graph of the library's users.
package e2e
