package main

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/nemo-lens/lens/gym"
)

//go:embed run.json
var runJSON []byte

// runConfig is run.json: the telemetry block, and a definition for each other
// key.
type runConfig struct {
	telemetry gym.TelemetryConfig
	servers   map[string]definition
}

// definition is one server of the run.
type definition struct {
	Type        string `json:"type"`
	Concurrency int    `json:"concurrency"` // requests that are worked on at once; 0: all

	// Of an agent:
	Model                string `json:"model"`     // name of the server it asks
	Resources            string `json:"resources"` // name of the server that verifies
	ConnectionsPerServer int    `json:"connections_per_server"`
}

func loadConfig(text []byte) (c runConfig, err error) {
	var global map[string]any
	if err := json.Unmarshal(text, &global); err != nil {
		return c, fmt.Errorf("run.json: %w", err)
	}
	if c.telemetry, err = gym.TelemetryConfigFromGlobalConfig(global); err != nil {
		return c, fmt.Errorf("run.json: %w", err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return c, fmt.Errorf("run.json: %w", err)
	}
	c.servers = make(map[string]definition)
	for name, part := range parts {
		var d definition
		if gym.IsReservedKey(name) {
			continue
		}
		if err := json.Unmarshal(part, &d); err != nil {
			return c, fmt.Errorf("run.json: %s: %w", name, err)
		}
		c.servers[name] = d
	}
	return c, nil
}

// ofType returns the name of the server of one kind.
func (c runConfig) ofType(kind string) (string, error) {
	for name, d := range c.servers {
		if d.Type == kind {
			return name, nil
		}
	}
	return "", fmt.Errorf("run.json: want a server of type %s", kind)
}
