// Package pipeline builds and holds the three signals of one set-up. In comes a
// plan: exporters, sizes, samplers, resource. Out go the providers that record
// into it, one flush and one shutdown of everything, and the metrics that lens
// has of itself.
package pipeline
