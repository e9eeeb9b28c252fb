// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
)

// fields are what all types answer with.
type fields struct {
	Key          string `json:"key"`
	Name         string `json:"name"`
	Type         Type   `json:"id_type"`
	KeyTokenOnly bool   `json:"key_token_enable"`
	Created      string `json:"created_at"`
	Updated      string `json:"updated_at"`
}

// Fields returns the answer to a request for the configuration, with the
// names of both dialects. If deployed, name is the key, as the deployed worker's
// clients know it. Extra is what only the caller knows: *IncrementState, *SnowflakeState or
// *FormattedState, or nil.
func (c *Config) Fields(deployed bool, extra any) any {
	f := fields{c.Key, c.Name, c.Type, c.KeyTokenOnly, timestamp(c.Created), timestamp(c.Updated)}
	if deployed || c.Name == "" {
		f.Name = c.Key
	}
	switch c.Type {
	case TypeIncrement:
		return struct {
			fields
			*Increment
			Start int64 `json:"start"`
			Step  int64 `json:"step"`
			extraFields
		}{f, c.Increment, c.Increment.Start(), c.Increment.Delta, extraOf(extra)}
	case TypeSnowflake:
		return struct {
			fields
			*Snowflake
			Epoch        int64 `json:"epoch"`
			WorkerBits   int   `json:"worker_bits"`
			SequenceBits int   `json:"sequence_bits"`
			consoleFields
			extraFields
		}{f, c.Snowflake, c.Snowflake.BaseTS, c.Snowflake.WorkerIDSize, c.Snowflake.SeqSize, consoleFields{c.Snowflake.BaseTS, c.Snowflake.WorkerIDSize}, extraOf(extra)}
	}
	return struct {
		fields
		Parts         []format.Part `json:"parts"`
		Pattern       string        `json:"pattern,omitempty"`
		SequenceReset string        `json:"sequence_reset,omitempty"`
		Guarantee     string        `json:"guarantee"`
		extraFields
	}{f, c.Formatted.Parts, c.Formatted.Pattern, c.Formatted.SequenceReset, c.Formatted.Format.Guarantee().String(), extraOf(extra)}
}

// consoleFields are the names that the deployed worker's console has for epoch and worker_bits.
type consoleFields struct {
	Epoch      int64 `json:"epoch_ts"`
	WorkerBits int   `json:"worker_id_bits"`
}

// IncrementState is what an increment key has given.
type IncrementState struct {
	// Current is the last ID that was given; before the first, the base. Exact says that it is,
	// rather than the last that another worker has reserved and may not have given yet.
	Current int64
	Exact   bool
	// Reserved is the last number that any worker has reserved.
	Reserved int64
}

// SnowflakeState is how many clients use a snowflake key.
type SnowflakeState struct {
	ActiveWorkers int // worker ids that are leased
}

// FormattedState is what a formatted key would give.
type FormattedState struct {
	SampleID string // of the form of the next ID; it consumes nothing
}

type extraFields struct {
	Current       *int64  `json:"current,omitempty"`
	CurrentExact  *bool   `json:"current_exact,omitempty"`
	Reserved      *int64  `json:"reserved,omitempty"`
	ActiveWorkers *int    `json:"active_workers,omitempty"`
	SampleID      *string `json:"sample_id,omitempty"`
}

func extraOf(extra any) extraFields {
	switch e := extra.(type) {
	case *IncrementState:
		return extraFields{Current: &e.Current, CurrentExact: &e.Exact, Reserved: &e.Reserved}
	case *SnowflakeState:
		return extraFields{ActiveWorkers: &e.ActiveWorkers}
	case *FormattedState:
		return extraFields{SampleID: &e.SampleID}
	}
	return extraFields{}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
