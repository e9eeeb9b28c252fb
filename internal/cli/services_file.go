// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// aboutServices describes the file of --services-file.
const aboutServices = `
Services are laid out as --epoch, --bits and --duration say. The file --services-file has those
that differ, in JSON; what a service leaves out is as the flags say:
  {"payments": {"bits": "1+41+12+10", "duration": "1h"}, "audit": {"epoch": "2025-01-01T00:00:00Z"}}`

// serviceEntry is what the file says about a service.
type serviceEntry struct {
	Epoch    string `json:"epoch"`
	Bits     string `json:"bits"`
	Duration string `json:"duration"`
}

// services reads the file of services, if there is one.
func (f *leaseFlags) services(otherwise lease.ServiceConfig) (map[string]lease.ServiceConfig, error) {
	if f.servicesFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.servicesFile)
	if err != nil {
		return nil, fmt.Errorf("--services-file: %w", err)
	}
	var entries map[string]serviceEntry
	if err := strictly(text, &entries); err != nil {
		return nil, shell.Invalid(fmt.Errorf("--services-file %s: %w", f.servicesFile, err))
	}
	services := map[string]lease.ServiceConfig{}
	for _, id := range sortedKeys(entries) {
		config, err := entries[id].config(otherwise)
		if err == nil {
			err = lease.Options{Services: map[string]lease.ServiceConfig{id: config}}.Validate()
		}
		if err != nil {
			return nil, shell.Invalid(fmt.Errorf("--services-file %s: service %q: %w", f.servicesFile, id, err))
		}
		services[id] = config
	}
	return services, nil
}

// config returns otherwise with what the entry says instead.
func (e serviceEntry) config(otherwise lease.ServiceConfig) (config lease.ServiceConfig, err error) {
	config = otherwise
	if e.Epoch != "" {
		if config.Layout.EpochMs, err = parseEpoch(e.Epoch); err != nil {
			return config, fmt.Errorf("epoch %q: %w", e.Epoch, err)
		}
	}
	if e.Bits != "" {
		if config.Layout, err = parseBits(config.Layout.EpochMs, e.Bits); err != nil {
			return config, fmt.Errorf("bits %q: %w", e.Bits, err)
		}
	}
	if e.Duration != "" {
		if config.Duration, err = time.ParseDuration(e.Duration); err != nil {
			return config, fmt.Errorf("duration %q: it is no duration such as 10m or 1h30m", e.Duration)
		}
	}
	return config, nil
}
