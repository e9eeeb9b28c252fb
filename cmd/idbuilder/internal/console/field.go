// SPDX-License-Identifier: Apache-2.0

package console

import (
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// control is the kind of a field.
type control string

const (
	text   control = "text"
	number control = "number" // a whole number, which a script must not round
	moment control = "moment" // milliseconds since 1970, or a date
	yesNo  control = "yes-no"
	choice control = "choice"
)

// field is a labelled input of a form. It has the name of the parameter in requests of the API,
// by which faults are shown at their field.
type field struct {
	Param    string
	Name     string // of the input, such as parts[1].length; outside of parts the parameter's name
	Label    string
	Help     string
	Control  control
	Choices  []option
	Value    string
	Required bool
	Seldom   bool // hidden until the admin opens more fields
	Focus    bool // the page opens with the focus here
	Faults   []string
}

// option is an option of a choice.
type option struct{ Value, Label string }

// ID returns the id of the input.
func (f field) ID() string {
	return "f-" + strings.NewReplacer("[", "-", "].", "-", "]", "").Replace(f.Name)
}

// DescribedBy returns the ids of the elements that describe the input.
func (f field) DescribedBy() string {
	var ids []string
	if len(f.Faults) > 0 {
		ids = append(ids, f.ID()+"-fault")
	}
	if f.Help != "" {
		ids = append(ids, f.ID()+"-help")
	}
	return strings.Join(ids, " ")
}

// Numeric reports whether the value is a number.
func (f field) Numeric() bool { return f.Control == number }

var (
	keyField = field{Param: "key", Label: "Key", Required: true, Control: text, Help: "Programs ask for IDs by it. Letters, digits and _ - . : / @ +, at most 255 bytes. It cannot be changed later."}

	sharedFields = []field{
		{Param: "name", Label: "Name", Control: text, Help: "For people. May be empty."},
		{Param: "key_token_enable", Label: "Only this key’s own token makes IDs", Control: yesNo, Help: "The token for all keys is then refused for this one."},
	}

	incrementFields = []field{
		{Param: "base", Label: "Base", Required: true, Control: number, Value: "0", Help: "The number before the first ID: with base 1000 the first ID is 1001."},
		{Param: "delta", Label: "Distance of two IDs", Control: number, Value: "1", Help: "A negative one makes IDs descend."},
		{Param: "rand_delta", Label: "Random distances", Control: yesNo, Help: "Each distance is random, from 1 to the one above, so that IDs tell less of how many there are."},
	}
	limitFields = []field{
		{Param: "max_request_delta", Label: "Largest distance that a request may ask for", Control: number, Help: "100 if empty, or the distance above if that is larger."},
		{Param: "min", Label: "Lowest ID", Control: number, Help: "No limit if empty."},
		{Param: "max", Label: "Highest ID", Control: number, Help: "No limit if empty: 9223372036854775807."},
	}

	snowflakeFields = []field{
		{Param: "base_ts", Label: "Start of time", Required: true, Control: moment, Help: "A date such as 2026-01-01 (UTC), or milliseconds since 1970."},
		{Param: "ts_size", Label: "Bits of time", Required: true, Control: number, Value: "41", Help: "Milliseconds: 41 bits last 69 years."},
		{Param: "worker_id_size", Label: "Bits of worker id", Required: true, Control: number, Value: "10", Help: "How many clients may make IDs at once: 10 bits, 1,024."},
		{Param: "seq_size", Label: "Bits of sequence", Required: true, Control: number, Value: "12", Help: "How many IDs a client makes in a millisecond: 12 bits, 4,096."},
		{Param: "skip_size", Label: "Unused bits", Control: number, Value: "1", Help: "1 keeps IDs positive. All bits sum to 64."},
	}

	patternFields = []field{
		{Param: "pattern", Label: "Pattern", Required: true, Control: text, Help: "{YYYY} {YY} {MM} {DD} {HH} {mm} {ss} {SEQ:N} {RAND:N} {UUID}"},
		{Param: "sequence_reset", Label: "Numbers begin anew", Control: choice, Choices: []option{{"never", "never"}, {"daily", "each day"}, {"monthly", "each month"}, {"yearly", "each year"}}},
	}
)

// fieldsOf returns the fields of a type, without those of parts.
func fieldsOf(t idconfig.Type) []field {
	switch t {
	case idconfig.TypeIncrement:
		return incrementFields
	case idconfig.TypeSnowflake:
		return snowflakeFields
	}
	return nil
}

// partKind describes a type of parts.
type partKind struct {
	Type   format.Type
	Label  string
	Fields []field // with what a new part begins with
}

var zoneField = field{Param: "time_zone", Seldom: true, Label: "Time zone", Control: text, Help: "Such as Asia/Tokyo. UTC if empty."}

// partKinds are the types of parts, in the order in which they are offered.
var partKinds = []partKind{
	{format.FixedChars, "Text", []field{{Param: "value", Label: "Text", Required: true, Control: text}}},
	{format.DateFormat, "Date", []field{
		{Param: "format", Label: "Pattern", Required: true, Control: text, Value: "yyyyMMdd", Help: "yyyy, yy, MM, dd, HH, mm, ss, …"}, zoneField,
	}},
	{format.AutoIncrement, "Number", []field{
		{Param: "length", Label: "Length", Control: number, Value: "6", Help: "Shorter numbers are padded."},
		{Param: "length_fixed", Label: "Never longer", Control: yesNo, Help: "The key ends when numbers no longer fit."},
		{Param: "reset_scope", Label: "Begins anew", Control: choice, Choices: []option{{"none", "never"}, {"year", "each year"}, {"month", "each month"}, {"date", "each day"}}},
		{Param: "number_base", Seldom: true, Label: "Number base", Control: number, Value: "10", Help: "2 to 36; 10 if empty."},
		{Param: "padding_mode", Seldom: true, Label: "Padded", Control: choice, Choices: []option{{"prefix", "before the number"}, {"suffix", "after the number"}}},
		{Param: "padding_char", Seldom: true, Label: "Padding character", Control: text, Value: "0"},
		zoneField,
	}},
	{format.FixedRandomChars, "Random characters", []field{
		{Param: "chars_scope", Label: "Characters", Required: true, Control: text, Value: "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"},
		{Param: "length", Label: "How many", Control: number, Value: "4"},
	}},
	{format.FixedPollingChar, "Rotating character", []field{{Param: "chars_scope", Label: "Characters", Required: true, Control: text, Value: "ABC", Help: "Taken in turn."}}},
	{format.Timestamp, "Milliseconds", []field{{Param: "base_ts", Label: "Since", Control: moment, Help: "A date, or milliseconds since 1970. 1970 if empty."}}},
	{format.UnixSeconds, "Seconds", []field{{Param: "base_unix", Label: "Since", Control: number, Help: "Seconds since 1970. 1970 if empty."}}},
}

func partKindOf(t format.Type) (partKind, bool) {
	for _, k := range partKinds {
		if k.Type == t {
			return k, true
		}
	}
	return partKind{}, false
}
