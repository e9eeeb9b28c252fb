// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/layoutflag"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// AboutServices describes the file of --services-file.
const AboutServices = `
--epoch, --bits and --duration are those of every service. The JSON file --services-file has the services
that differ; the flags give the values that a service leaves out:
  {"payments": {"bits": "1+41+12+10", "duration": "1h"}, "audit": {"epoch": "2025-01-01T00:00:00Z"}}`

// serviceEntry is the entry of a service in the file.
type serviceEntry struct {
	Epoch    string `json:"epoch"`
	Bits     string `json:"bits"`
	Duration string `json:"duration"`
}

// readServices reads the file of services; nil if its name is empty.
func readServices(file string, otherwise lease.ServiceConfig) (map[string]lease.ServiceConfig, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--services-file: %w", err)
	}
	var entries map[string]serviceEntry
	if err := decodeStrictly(text, &entries); err != nil {
		return nil, shell.Invalid(fmt.Errorf("--services-file %s: %w", file, err))
	}
	services := map[string]lease.ServiceConfig{}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		config, err := entries[id].withEntry(otherwise)
		if err == nil {
			err = lease.Options{Services: map[string]lease.ServiceConfig{id: config}}.Validate()
		}
		if err != nil {
			return nil, shell.Invalid(fmt.Errorf("--services-file %s: service %q: %w", file, id, err))
		}
		services[id] = config
	}
	return services, nil
}

// withEntry returns otherwise with the settings of the entry.
func (e serviceEntry) withEntry(otherwise lease.ServiceConfig) (config lease.ServiceConfig, err error) {
	config = otherwise
	if e.Epoch != "" {
		if config.Layout.CustomEpochMs, err = layoutflag.ParseEpoch(e.Epoch); err != nil {
			return config, fmt.Errorf("epoch %q: %w", e.Epoch, err)
		}
	}
	if e.Bits != "" {
		if config.Layout, err = layoutflag.ParseBits(config.Layout.CustomEpochMs, e.Bits); err != nil {
			return config, fmt.Errorf("bits %q: %w", e.Bits, err)
		}
	}
	if e.Duration != "" {
		if config.Duration, err = time.ParseDuration(e.Duration); err != nil {
			return config, fmt.Errorf("duration %q: it is not a duration such as 10m or 1h30m", e.Duration)
		}
	}
	return config, nil
}
