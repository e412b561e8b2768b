package control

import "time"

// View is a process as an operator sees it.
type View struct {
	Service    string `json:"service,omitempty"`
	RunID      string `json:"run_id"`
	Rank       int    `json:"rank"`
	WorldSize  int    `json:"world_size"`
	Exporting  bool   `json:"exporting"`
	ExportsTo  string `json:"exports_to,omitempty"`
	SpansNever bool   `json:"records_no_spans"` // whatever the groups are

	Spec    *string             `json:"spec"` // null when groups are pinned
	Enabled []string            `json:"enabled"`
	Waiting []string            `json:"pending"` // entries of the spec that name nothing yet
	Groups  []Group             `json:"groups"`
	Presets map[string][]string `json:"presets"`

	Temporary *Temporary `json:"temporary,omitempty"`
	Changes   []Change   `json:"changes"`

	Stats any `json:"stats"`

	Open      []OpenSpan `json:"open_spans"` // the oldest first
	OpenTotal int        `json:"open_spans_total"`
	Now       time.Time  `json:"now"`
}

// Group is a group that the process knows.
type Group struct {
	Name    string   `json:"name"`
	Enabled bool     `json:"enabled"`
	Presets []string `json:"presets"` // that have it, without "all"
}

// Temporary is a change that will revert by itself.
type Temporary struct {
	To        string    `json:"to"`
	RevertsTo string    `json:"reverts_to"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"`
}

// OpenSpan is a span that has not ended.
type OpenSpan struct {
	Name       string         `json:"name"`
	Group      string         `json:"group,omitempty"`
	Start      time.Time      `json:"start"`
	AgeSeconds float64        `json:"age_seconds"`
	Attributes map[string]any `json:"attributes,omitempty"`
	TraceID    string         `json:"trace_id"`
	SpanID     string         `json:"span_id"`
	ParentID   string         `json:"parent_span_id,omitempty"`
}

// MaxOpen bounds the open spans of a view.
const MaxOpen = 200
