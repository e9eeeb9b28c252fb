// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/format"
)

// Formatted configures IDs that are texts of parts.
type Formatted struct {
	Parts []format.Part `json:"parts"`
	// Pattern and SequenceReset are what Parts were made of, in the deployed
	// worker's dialect; empty otherwise.
	Pattern       string `json:"pattern,omitempty"`
	SequenceReset string `json:"sequence_reset,omitempty"`

	// Format is compiled from Parts.
	Format *format.Format `json:"-"`
}

type formattedRequest struct {
	request
	Parts         []format.Part `json:"parts"`
	Pattern       *string       `json:"pattern"`
	SequenceReset *string       `json:"sequence_reset"`
}

func (r *formattedRequest) config() (*Formatted, []error) {
	c := &Formatted{Parts: r.Parts}
	switch {
	case r.Parts != nil && r.Pattern != nil:
		return c, []error{twice("parts", "pattern")}
	case r.Parts != nil && r.SequenceReset != nil:
		return c, []error{fault("sequence_reset", "it belongs to pattern; in parts, give the auto-increment part a reset_scope")}
	case r.Pattern != nil:
		c.Pattern, c.SequenceReset = *r.Pattern, first("never", r.SequenceReset)
		parts, err := format.ParsePattern(c.Pattern, c.SequenceReset)
		if err != nil {
			return c, []error{fault("pattern", "%v", err)}
		}
		c.Parts = parts
	case len(r.Parts) == 0:
		return c, []error{fault("parts", "they are missing; give at least one part, or a pattern")}
	}
	if err := c.compile(); err != nil {
		return c, paramErrors(err)
	}
	return c, nil
}

func (c *Formatted) compile() (err error) {
	c.Format, err = format.Compile(c.Parts)
	return err
}

// paramErrors names the parameters of the faults of a format: parts[1].length.
func paramErrors(err error) (faults []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{paramError(err)}
	}
	for _, e := range joined.Unwrap() {
		faults = append(faults, paramError(e))
	}
	return faults
}

func paramError(err error) error {
	var e *format.PartError
	if !errors.As(err, &e) {
		return fault("parts", "%v", err)
	}
	param := "parts"
	if e.Part >= 0 {
		param = fmt.Sprintf("parts[%d]", e.Part)
		if e.Parameter != "" {
			param += "." + e.Parameter
		}
	}
	return &ParamError{Param: param, Reason: e.Reason}
}
