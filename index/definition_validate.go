// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate reports all faults of the definition, joined.
func (d *Definition) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("index: "+format, args...))
		}
	}
	fault(d.Name == "", "a definition without a name")
	_, namedUnique := cutUnique(d.KeyName())
	fault(namedUnique != d.Unique, "%s has a name that says otherwise whether it is unique", d.Name)
	fault(!d.Kind.known(), "%s is of the kind %q, which this program does not know", d.Name, d.Kind)
	if err := d.Scatter.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("index: %s: %w", d.Name, err))
	}
	fault(d.Unique && d.Scatter != 0, "%s is unique and cannot be scattered", d.Name)
	fault(d.Cover && len(d.CoverFields) > 0, "%s covers the record already: it needs no copies of fields", d.Name)
	fault(strings.Contains(d.Signature, ":"), "the signature of %s has a colon", d.Name)
	faults = append(faults, d.validateNames(), d.validateKind())
	return errors.Join(faults...)
}

// validateKind reports the faults of a definition of its kind.
func (d *Definition) validateKind() error {
	var faults []error
	fault := func(bad bool, text string) {
		if bad {
			faults = append(faults, fmt.Errorf("index: %s %s", d.Name, text))
		}
	}
	needsFields := d.Kind == Value || d.Kind == Rank
	fault(needsFields && len(d.Fields) == 0, "has no fields")
	fault(d.Kind == Version && len(d.Fields) > 0, "is ordered by versions and has fields")
	fault((d.Kind == Sum) != (d.Of != ""), "must name the field that it adds if, and only if, it is a sum")
	if d.Kind != Value {
		fault(d.Unique, "cannot be unique: it is no index of values")
		fault(d.Cover || len(d.CoverFields) > 0, "cannot cover records: it is no index of values")
		fault(d.Scatter != 0, "cannot be scattered: it is no index of values")
		fault(len(d.Descending) > 0, "has descending fields: only an index of values can")
	}
	fault(d.Kind == Version && d.Where != "", "has a condition: an index of versions has all records")
	return errors.Join(faults...)
}

// validateNames reports field names that have no place in a layout, and
// descending fields that are none of the index.
func (d *Definition) validateNames() error {
	var faults []error
	for _, field := range slices.Concat(d.Fields, []string{d.Of}, d.CoverFields) {
		if strings.ContainsAny(field, ",:=") {
			faults = append(faults, fmt.Errorf("index: %s: the field %q has a comma, a colon or an equals sign in its name", d.Name, field))
		}
	}
	for i, field := range d.Descending {
		if !slices.Contains(d.Fields, field) || slices.Contains(d.Descending[:i], field) {
			faults = append(faults, fmt.Errorf("index: %s: the descending field %q is none of its fields, or is named twice", d.Name, field))
		}
	}
	return errors.Join(faults...)
}
