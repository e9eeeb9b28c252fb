// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
)

// Type is the kind of IDs that a configuration makes.
type Type string

// Types.
const (
	TypeIncrement Type = "increment"
	TypeSnowflake Type = "snowflake"
	TypeFormatted Type = "formatted"
)

// Config is a configuration. It is immutable after it was parsed or decoded, and safe
// for concurrent use.
type Config struct {
	Key  string
	Name string // for people; may be empty
	Type Type

	// Increment, Snowflake or Formatted: that of Type is set, the others are nil.
	Increment *Increment
	Snowflake *Snowflake
	Formatted *FormattedConfig

	// Formats has the parts of the formats that a key of another type had before: see
	// [Config.Succeed].
	Formats [][]format.Part

	// KeyTokenOnly says that only this key's token and admin tokens permit IDs, not the
	// deployed worker's global token.
	KeyTokenOnly bool
	// Deleted says that the configuration was deleted. The rest is kept, so that a new
	// configuration of the key does not repeat IDs.
	Deleted bool
	// Revoked says that the tokens of the key were made invalid after it was deleted. A key
	// that is deleted and not revoked may have tokens from before: its deletion was
	// interrupted, or made by a program that did not write this.
	Revoked bool

	Version          int64 // of the document; 0 if it is not stored
	Created, Updated time.Time

	// Unknown has the members of the document that this program does not know, for example
	// because a newer version wrote them: Encode stores them again.
	Unknown map[string]json.RawMessage
}

// storedConfig is the JSON in the store: the parameters of the type, as the specification
// lists them, and those that all types share.
type storedConfig struct {
	Name         string `json:"name,omitempty"`
	KeyTokenOnly bool   `json:"key_token_enable,omitempty"`
	Deleted      bool   `json:"deleted,omitempty"`
	Revoked      bool   `json:"revoked,omitempty"`

	Formats [][]format.Part `json:"formats,omitempty"`
}

// Encode returns the configuration as a JSON object for the store: the members that the
// specification lists, others only if they are set, and those that Decode did not know.
func (c *Config) Encode() ([]byte, error) {
	value, err := c.encodeKnown()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Unknown)) {
		if c.knows(name) {
			continue // it was of another type
		}
		member, err := json.Marshal(map[string]json.RawMessage{name: c.Unknown[name]})
		if err != nil {
			return nil, err
		}
		value = append(append(value[:len(value)-1], ','), member[1:]...)
	}
	return value, nil
}

func (c *Config) encodeKnown() ([]byte, error) {
	shared := storedConfig{c.Name, c.KeyTokenOnly, c.Deleted, c.Revoked, c.Formats}
	switch c.Type {
	case TypeIncrement:
		return json.Marshal(struct {
			storedConfig
			storedIncrement
		}{shared, c.Increment.toStored()})
	case TypeSnowflake:
		return json.Marshal(struct {
			storedConfig
			*Snowflake
		}{shared, c.Snowflake})
	case TypeFormatted:
		return json.Marshal(struct {
			storedConfig
			*FormattedConfig
		}{shared, c.Formatted})
	}
	return nil, fmt.Errorf("idconfig: %q is not a type of ID", c.Type)
}

// Decode returns the configuration in a document. The error is a [*store.CorruptError] if
// the document has none; it is also a [store.ErrNewer] if the document, or a part of a format,
// needs what this program does not know.
func Decode(d store.Document) (*Config, error) {
	c := &Config{Key: d.Key, Type: Type(d.Type), Version: d.Version, Created: d.Created, Updated: d.Updated}
	var shared storedConfig
	err := json.Unmarshal(d.Value, &shared)
	c.Name, c.KeyTokenOnly, c.Deleted, c.Revoked, c.Formats = shared.Name, shared.KeyTokenOnly, shared.Deleted, shared.Revoked, shared.Formats
	if err == nil {
		err = c.decodeUnknown(d.Value)
	}
	if err == nil {
		err = c.decodeParameters(d.Value)
	}
	if err != nil {
		return nil, &store.CorruptError{Where: fmt.Sprintf("configuration %q", d.Key), Reason: "it cannot be read", Err: err}
	}
	return c, nil
}

// decodeUnknown keeps the members that this program does not know. It refuses those of parts:
// IDs would be of another form.
func (c *Config) decodeUnknown(value []byte) error {
	if err := newer.CheckJSON(value); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(value, &all); err != nil {
		return err
	}
	for name, into := range map[string]any{"parts": new([]format.Part), "earlier": new([][]format.Part), "formats": new([][]format.Part)} {
		if err := newer.Unmarshal(all[name], into); all[name] != nil && errors.Is(err, store.ErrNewer) {
			return err
		}
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return c.knows(name) })
	if len(all) > 0 {
		c.Unknown = all
	}
	return nil
}

// knows reports whether documents of the type have a member. As in decoding, case does not
// matter.
func (c *Config) knows(name string) bool {
	known := membersOf(reflect.TypeFor[storedConfig]()).names
	switch c.Type {
	case TypeIncrement:
		known = append(known, membersOf(reflect.TypeFor[storedIncrement]()).names...)
	case TypeSnowflake:
		known = append(known, membersOf(reflect.TypeFor[Snowflake]()).names...)
	case TypeFormatted:
		known = append(known, membersOf(reflect.TypeFor[FormattedConfig]()).names...)
	}
	return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
}

// decodeParameters decodes and checks the parameters of the type. Faulty parameters, such as
// a delta of 0, are an error: this program did not write them.
func (c *Config) decodeParameters(value []byte) error {
	var faults []error
	switch c.Type {
	case TypeIncrement:
		var s storedIncrement
		if err := json.Unmarshal(value, &s); err != nil {
			return err
		}
		c.Increment, faults = s.toIncrement()
	case TypeSnowflake:
		c.Snowflake = new(Snowflake)
		if err := json.Unmarshal(value, c.Snowflake); err != nil {
			return err
		}
		faults = c.Snowflake.checkSizes(specifiedNames)
	case TypeFormatted:
		c.Formatted = new(FormattedConfig)
		if err := json.Unmarshal(value, c.Formatted); err != nil {
			return err
		}
		return c.Formatted.compile()
	default:
		return fmt.Errorf("%q is not a type of ID", c.Type)
	}
	return errors.Join(faults...)
}

// Fields returns the answer to a request for the configuration, with the
// names of both dialects. If deployed, name is the key, as the deployed worker's
// clients know it. Extra is the state of the key: an *IncrementState, *SnowflakeState or
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

// Succeed copies from old, which c replaces, the formats that the key has had, even while it
// was of another type: later changes are compared with them. Otherwise a change to another
// format and a second change back to one like the first could both be allowed, and repeat
// the IDs of the first. Succeed also sets the epoch of an increment configuration, and copies
// the members of the document that this program does not know.
func (c *Config) Succeed(old *Config) {
	c.Unknown = old.Unknown
	switch {
	case c.Formatted != nil:
		f := *c.Formatted
		f.Earlier = distinct(old.allFormats(), f.Parts)
		c.Formatted = &f
	case len(old.allFormats()) > 0:
		c.Formats = distinct(old.allFormats(), nil)
	}
	if c.Increment != nil {
		i := *c.Increment
		i.Epoch = i.epochAfter(old)
		c.Increment = &i
	}
}

// CheckChange returns a [*ChangeError] if IDs of the configuration next could
// equal IDs that the configuration old, of the same key, or one before it, has given. Old may be
// deleted. In doubt it refuses. For an increment sequence the caller compares the base with the
// value: see [Increment.Rewinds]. For a snowflake key it refuses any change of the layout, since
// the IDs depend on its clients.
//
// A caller that makes the change, forced or not, calls next.Succeed(old) before it
// stores next.
func CheckChange(old, next *Config) error {
	switch {
	case old.Type != next.Type:
		return &ChangeError{"id_type", "the key has made " + string(old.Type) + " IDs; use another key for " + string(next.Type) + " IDs"}
	case old.Type == TypeIncrement && (old.Increment.Delta < 0) != (next.Increment.Delta < 0):
		return &ChangeError{"delta", "the direction of the sequence would turn, and pass the IDs that it gave"}
	case old.Type == TypeSnowflake && *old.Snowflake != *next.Snowflake:
		return &ChangeError{"base_ts", "clients make IDs with the layout as it is; another one could make them again"}
	case old.Type == TypeFormatted:
		return checkFormats(old.Formatted, next.Formatted)
	}
	return nil
}

// allFormats returns the present and the earlier formats of a configuration.
func (c *Config) allFormats() [][]format.Part {
	if c.Formatted == nil {
		return c.Formats
	}
	return c.Formatted.allFormats()
}

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
