// SPDX-License-Identifier: Apache-2.0

package format

// Type is the type of a [Part], by its name in requests.
type Type string

// Types of parts.
const (
	FixedChars       Type = "fixed-chars"
	FixedPollingChar Type = "fixed-polling-char"
	FixedRandomChars Type = "fixed-random-chars"
	DateFormat       Type = "date-format"
	Timestamp        Type = "timestamp"
	UnixSeconds      Type = "unix-seconds"
	AutoIncrement    Type = "auto-increment"
)

// Part configures one part of a formatted ID. Each type has parameters of its
// own; those of another type are refused. Zero stands for the default.
type Part struct {
	Type Type `json:"type"`

	// Value is the text of FixedChars.
	Value string `json:"value,omitempty"`

	// CharsScope has the characters of FixedPollingChar, which uses them in turn,
	// and of FixedRandomChars, which draws Length of them (default 1).
	CharsScope string `json:"chars_scope,omitempty"`

	// Format is the pattern of DateFormat, such as "yyyyMMdd": see [Date].
	Format string `json:"format,omitempty"`
	// TimeZone is the IANA time zone of DateFormat, and the one in which an
	// AutoIncrement resets. The default value is that of the first DateFormat
	// that has one, or UTC.
	TimeZone string `json:"time_zone,omitempty"`

	// BaseTS is subtracted by Timestamp, milliseconds since 1970.
	BaseTS int64 `json:"base_ts,omitempty"`
	// BaseUnix is subtracted by UnixSeconds, seconds since 1970.
	BaseUnix int64 `json:"base_unix,omitempty"`

	// Length is the number of characters of FixedRandomChars, and that to which
	// AutoIncrement is padded.
	Length int `json:"length,omitempty"`
	// LengthFixed refuses numbers of AutoIncrement that are longer than Length.
	LengthFixed bool `json:"length_fixed,omitempty"`
	// PaddingMode says on which side AutoIncrement is padded: "prefix", the default, or
	// "suffix".
	PaddingMode string `json:"padding_mode,omitempty"`
	// PaddingChar pads AutoIncrement. The default value is "0".
	PaddingChar string `json:"padding_char,omitempty"`
	// NumberBase is the base of AutoIncrement, 2 to 36. The default value is 10.
	NumberBase int `json:"number_base,omitempty"`
	// ResetScope says when AutoIncrement begins at 1 again. The default value
	// is ResetNever.
	ResetScope Reset `json:"reset_scope,omitempty"`
}

// setParameters returns the parameters that are set, by their names in requests.
func (p Part) setParameters() map[string]bool {
	return map[string]bool{
		"value": p.Value != "", "chars_scope": p.CharsScope != "", "format": p.Format != "", "time_zone": p.TimeZone != "",
		"base_ts": p.BaseTS != 0, "base_unix": p.BaseUnix != 0, "length": p.Length != 0, "length_fixed": p.LengthFixed,
		"padding_mode": p.PaddingMode != "", "padding_char": p.PaddingChar != "", "number_base": p.NumberBase != 0, "reset_scope": p.ResetScope != "",
	}
}

// allowed lists the parameters of each type.
var allowed = map[Type][]string{
	FixedChars:       {"value"},
	FixedPollingChar: {"chars_scope"},
	FixedRandomChars: {"chars_scope", "length"},
	DateFormat:       {"format", "time_zone"},
	Timestamp:        {"base_ts"},
	UnixSeconds:      {"base_unix"},
	AutoIncrement:    {"length", "length_fixed", "padding_mode", "padding_char", "number_base", "reset_scope", "time_zone"},
}
