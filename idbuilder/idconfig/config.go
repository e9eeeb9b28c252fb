// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
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

	Version          int64 // of the document; 0 if it is not stored
	Created, Updated time.Time
}

// storedConfig is the JSON in the store: the parameters of the type, as the specification
// lists them, and those that all types share.
type storedConfig struct {
	Name         string `json:"name,omitempty"`
	KeyTokenOnly bool   `json:"key_token_enable,omitempty"`
	Deleted      bool   `json:"deleted,omitempty"`

	Formats [][]format.Part `json:"formats,omitempty"`
}

// Encode returns the configuration as a JSON object for the store: the members that the
// specification lists, and others only if they are set.
func (c *Config) Encode() ([]byte, error) {
	shared := storedConfig{c.Name, c.KeyTokenOnly, c.Deleted, c.Formats}
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
// the document has none.
func Decode(d store.Document) (*Config, error) {
	c := &Config{Key: d.Key, Type: Type(d.Type), Version: d.Version, Created: d.Created, Updated: d.Updated}
	var shared storedConfig
	err := json.Unmarshal(d.Value, &shared)
	c.Name, c.KeyTokenOnly, c.Deleted, c.Formats = shared.Name, shared.KeyTokenOnly, shared.Deleted, shared.Formats
	if err == nil {
		err = c.decodeParameters(d.Value)
	}
	if err != nil {
		return nil, &store.CorruptError{Where: fmt.Sprintf("configuration %q", d.Key), Reason: "it cannot be read", Err: err}
	}
	return c, nil
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
