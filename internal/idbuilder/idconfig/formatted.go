// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/format"
)

// FormattedConfig configures IDs that are texts of parts.
type FormattedConfig struct {
	Parts []format.Part `json:"parts"`
	// Pattern and SequenceReset are the source of Parts in the deployed worker's dialect;
	// empty otherwise.
	Pattern       string `json:"pattern,omitempty"`
	SequenceReset string `json:"sequence_reset,omitempty"`
	// Earlier has the parts of the formats that the key had before and that
	// may have IDs in use: see [Config.Succeed].
	Earlier [][]format.Part `json:"earlier,omitempty"`

	// Format is the format of Parts.
	Format *format.Format `json:"-"`
}

type formattedRequest struct {
	request
	Parts         []format.Part `json:"parts"`
	Pattern       *string       `json:"pattern"`
	SequenceReset *string       `json:"sequence_reset"`
}

func (r *formattedRequest) toConfig() (*FormattedConfig, []error) {
	switch {
	case r.Parts != nil && r.Pattern != nil:
		return nil, []error{twice("parts", "pattern")}
	case r.Pattern != nil:
		return ofPattern(*r.Pattern, first("never", r.SequenceReset))
	case r.SequenceReset != nil:
		return nil, []error{fault("sequence_reset", "it belongs to a pattern; in parts, give the auto-increment part a reset_scope")}
	case len(r.Parts) == 0:
		return nil, []error{fault("parts", "they are missing; allowed are 1 to 32 parts, or a pattern")}
	}
	c := &FormattedConfig{Parts: r.Parts}
	return c, paramErrors(c.compile(), partParam)
}

// ofPattern returns the configuration for a pattern.
func ofPattern(pattern, reset string) (*FormattedConfig, []error) {
	parts, err := format.ParsePattern(pattern, reset)
	switch {
	case err != nil:
		param, reason, found := strings.Cut(err.Error(), ": ")
		if !found || param != "sequence_reset" && param != "pattern" {
			param, reason = "pattern", err.Error()
		}
		return nil, []error{fault(param, "%s", reason)}
	case pattern == "":
		return nil, []error{fault("pattern", "it is empty; it needs {SEQ:N}, {RAND:N} or {UUID}")}
	}
	c := &FormattedConfig{Parts: parts, Pattern: pattern, SequenceReset: reset}
	return c, paramErrors(c.compile(), patternParam)
}

func (c *FormattedConfig) compile() (err error) {
	c.Format, err = format.Compile(c.Parts)
	return err
}

// partFault is the error of a format for a fault of one part, or, if the part is below 0, of the format as a whole.
type partFault interface {
	error
	Fault() (part int, parameter, reason string)
}

// paramErrors turns the errors of a format into faults for a client.
func paramErrors(err error, of func(partFault) error) (faults []error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		var e partFault
		switch {
		case errors.As(err, &e):
			faults = append(faults, of(e))
		case err != nil:
			faults = append(faults, fault("parts", "%v", err))
		}
	}
	return faults
}

// partParam names the parameter of a part: parts[1].length.
func partParam(e partFault) error {
	part, parameter, reason := e.Fault()
	param := "parts"
	if part >= 0 {
		param = fmt.Sprintf("parts[%d]", part)
	}
	if part >= 0 && parameter != "" {
		param += "." + parameter
	}
	return &ParamError{Param: param, Reason: reason}
}

// patternParam names the parameter of a pattern that a part was made of.
func patternParam(e partFault) error {
	part, parameter, reason := e.Fault()
	switch {
	case parameter == "reset_scope":
		return fault("sequence_reset", "numbers would begin anew without the IDs showing when, so IDs would repeat; the pattern needs {YYYY} for yearly, {MM} too for monthly, {DD} too for daily")
	case part < 0:
		return fault("pattern", "%s; it needs {SEQ:N}, {RAND:N} or {UUID}", reason)
	}
	return fault("pattern", "%v (each text and placeholder is a part, counted from 0)", e)
}

func (f *FormattedConfig) allFormats() [][]format.Part {
	return append(slices.Clone(f.Earlier), f.Parts)
}

// maxEarlier bounds the earlier formats of a key, which are stored with it.
const maxEarlier = 32

// checkFormats allows a change if no ID of next can equal one of old or of a format before
// it. Since no number of a sequence comes twice, that holds if both have the same parts,
// begin or end with different texts, or differ only in the zeros before numbers.
func checkFormats(old, next *FormattedConfig) error {
	all := old.allFormats()
	for _, parts := range all {
		if !equalParts(parts, next.Parts) && !differInTexts(parts, next.Parts) && !differInPadding(parts, next.Parts) {
			return &ChangeError{"parts", "the new IDs could equal IDs that a format of this key gave: they neither begin or end with another text, nor go on with the same number in the same place"}
		}
	}
	if len(distinct(all, next.Parts)) > maxEarlier {
		return &ChangeError{"parts", "the key has had too many formats to compare the new IDs with; use another key"}
	}
	return nil
}

// distinct returns each format once, without those that make the same IDs as parts.
func distinct(formats [][]format.Part, parts []format.Part) (all [][]format.Part) {
	for _, p := range formats {
		same := func(q []format.Part) bool { return equalParts(p, q) }
		if !same(parts) && !slices.ContainsFunc(all, same) {
			all = append(all, p)
		}
	}
	return all
}

// equalParts reports whether two formats make the same IDs from the same
// sequences.
func equalParts(a, b []format.Part) bool { return slices.Equal(explicit(a), explicit(b)) }

// explicit returns the parts with their default values set.
func explicit(parts []format.Part) []format.Part {
	zone := "UTC"
	for _, p := range slices.Backward(parts) {
		if p.Type == format.DateFormat && p.TimeZone != "" {
			zone = p.TimeZone
		}
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i] = explicitPart(parts[i], zone)
	}
	return parts
}

func explicitPart(p format.Part, zone string) format.Part {
	switch p.Type {
	case format.FixedRandomChars:
		p.Length = max(p.Length, 1)
	case format.DateFormat:
		p.TimeZone = or(p.TimeZone, zone)
	case format.AutoIncrement:
		p.NumberBase, p.PaddingMode, p.PaddingChar = or(p.NumberBase, 10), or(p.PaddingMode, "prefix"), or(p.PaddingChar, "0")
		p.ResetScope, p.TimeZone = or(p.ResetScope, format.ResetNever), or(p.TimeZone, zone)
		if p.ResetScope == format.ResetNever {
			p.TimeZone = "" // it has no effect
		}
	}
	return p
}

// or returns the first value that is not zero.
func or[T comparable](value, otherwise T) T {
	if value == *new(T) {
		return otherwise
	}
	return value
}

// differInTexts reports whether both begin with texts of which neither begins with the other,
// or both end with texts of which neither ends with the other.
func differInTexts(a, b []format.Part) bool {
	x, y := prefix(a), prefix(b)
	n := min(len(x), len(y))
	if x[:n] != y[:n] {
		return true
	}
	x, y = suffix(a), suffix(b)
	return !strings.HasSuffix(x, y) && !strings.HasSuffix(y, x)
}

// prefix returns the text with which all IDs of the parts begin.
func prefix(parts []format.Part) (text string) {
	for _, p := range parts {
		if p.Type != format.FixedChars {
			break
		}
		text += p.Value
	}
	return text
}

// suffix returns the text with which all IDs of the parts end.
func suffix(parts []format.Part) (text string) {
	for _, p := range slices.Backward(parts) {
		if p.Type != format.FixedChars {
			break
		}
		text = p.Value + text
	}
	return text
}

// differInPadding reports whether the formats differ only in the zeros before numbers. Then
// equal IDs would have equal numbers of equal periods, which do not come twice.
func differInPadding(a, b []format.Part) bool {
	a, b = unpadded(a), unpadded(b)
	return a != nil && slices.Equal(a, b)
}

// unpadded returns the parts without the zeros before numbers; nil if an ID could
// then be read in more than one way, since the numbers vary in length.
func unpadded(parts []format.Part) []format.Part {
	parts = explicit(parts)
	for i, p := range parts {
		if p.Type == format.AutoIncrement && p.PaddingMode == "prefix" && p.PaddingChar == "0" {
			parts[i].Length, parts[i].LengthFixed = 0, false
		}
	}
	if _, err := format.Compile(parts); err != nil {
		return nil
	}
	return parts
}
