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
	// Earlier has the parts of the formats that the key had before, and whose
	// IDs may be in use: see [Config.Succeed].
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

// paramErrors turns the errors of a format into faults for a client.
func paramErrors(err error, of func(*format.PartError) error) (faults []error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		var e *format.PartError
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
func partParam(e *format.PartError) error {
	param := "parts"
	if e.Part >= 0 {
		param = fmt.Sprintf("parts[%d]", e.Part)
	}
	if e.Part >= 0 && e.Parameter != "" {
		param += "." + e.Parameter
	}
	return &ParamError{Param: param, Reason: e.Reason}
}

// patternParam names the parameter of a pattern that a part was made of.
func patternParam(e *format.PartError) error {
	switch {
	case e.Parameter == "reset_scope":
		return fault("sequence_reset", "numbers would begin anew without the IDs showing when, so IDs would repeat; the pattern needs {YYYY} for yearly, {MM} too for monthly, {DD} too for daily")
	case e.Part < 0:
		return fault("pattern", "%s; it needs {SEQ:N}, {RAND:N} or {UUID}", e.Reason)
	}
	return fault("pattern", "%v (each text and placeholder is a part, counted from 0)", e)
}

func (f *FormattedConfig) allFormats() [][]format.Part {
	return append(slices.Clone(f.Earlier), f.Parts)
}
