// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"time"
)

// fields are the members of the answers for all types.
type fields struct {
	Key          string `json:"key"`
	Name         string `json:"name"`
	Type         Type   `json:"id_type"`
	KeyTokenOnly bool   `json:"key_token_enable"`
	Created      string `json:"created_at"`
	Updated      string `json:"updated_at"`
}

// consoleFields are the names that the deployed worker's console has for epoch and worker_bits.
type consoleFields struct {
	Epoch      int64 `json:"epoch_ts"`
	WorkerBits int   `json:"worker_id_bits"`
}

// IncrementState is the state of an increment key.
type IncrementState struct {
	// Current is the last ID that was given; before the first one, the base. If Exact is false,
	// it is the last ID that another worker has reserved and may not have given yet.
	Current int64
	Exact   bool
	// Reserved is the last number that any worker has reserved.
	Reserved int64
}

// SnowflakeState is the state of a snowflake key.
type SnowflakeState struct {
	ActiveWorkers int  // worker ids that are leased
	Incomplete    bool // other leases cannot be read
}

// FormattedState is the state of a formatted key.
type FormattedState struct {
	SampleID string // of the form of the next ID; it consumes nothing
	Counters []CounterState
}

// CounterState is the state of a counter of a formatted key, in its present period.
type CounterState struct {
	Period   string // "" for a counter that does not begin anew
	Reserved int64  // the last number that any worker has reserved; 0: none yet
	Max      int64  // the last one that fits
}

type extraFields struct {
	Current       *int64  `json:"current,omitempty"`
	CurrentExact  *bool   `json:"current_exact,omitempty"`
	Reserved      *int64  `json:"reserved,omitempty"`
	ActiveWorkers *int    `json:"active_workers,omitempty"`
	Incomplete    bool    `json:"incomplete,omitempty"`
	SampleID      *string `json:"sample_id,omitempty"`
}

func extraOf(extra any) extraFields {
	switch e := extra.(type) {
	case *IncrementState:
		return extraFields{Current: &e.Current, CurrentExact: &e.Exact, Reserved: &e.Reserved}
	case *SnowflakeState:
		return extraFields{ActiveWorkers: &e.ActiveWorkers, Incomplete: e.Incomplete}
	case *FormattedState:
		return extraFields{SampleID: &e.SampleID}
	}
	return extraFields{}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
