// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"go/token"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/collector"
	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
)

// reportBrokenFields reports, where there are faults already, the type errors
// that may have caused them: inside declarations of fields, and of imports.
func (r *run) reportBrokenFields(loaded []*source.Package) {
	if len(r.faults.Faults) == 0 {
		return
	}
	explained := map[token.Position]bool{}
	for _, l := range loaded {
		for _, one := range l.TypeErrors {
			if !l.IsInField(one.Pos) && !strings.HasPrefix(one.Msg, "could not import") {
				continue
			}
			at := l.Position(one.Pos)
			r.faults.Add(at, "", "%s", one.Msg)
			explained[token.Position{Filename: r.faults.Relative(at.Filename), Line: at.Line}] = true
		}
	}
	r.faults.Faults = slices.DeleteFunc(r.faults.Faults, func(f diagnostic.Fault) bool {
		return f.Message == collector.Unresolved && explained[token.Position{Filename: f.At.Filename, Line: f.At.Line}]
	})
}

// recheck type-checks the packages with the generated code, if that is new or if
// there were type errors without it. Errors that remain are faults, or notes if the
// package tolerates them.
func (r *run) recheck(loaded []*source.Package) error {
	changed := slices.ContainsFunc(r.outputs, func(o output.File) bool { return strings.HasSuffix(o.Path, output.GeneratedSuffix) && o.Differs() })
	if !changed && !slices.ContainsFunc(loaded, (*source.Package).IsBroken) {
		return nil
	}
	for _, o := range r.outputs {
		if strings.HasSuffix(o.Path, output.GeneratedSuffix) && o.Content != nil {
			r.loader.Overlay[o.Path] = o.Content
		}
	}
	again, err := r.loader.Check(r.ours, r.faults)
	if err = cmp.Or(err, r.err()); err != nil {
		return err
	}
	tolerated := &diagnostic.List{Dir: r.faults.Dir}
	for _, l := range again {
		for _, one := range l.TypeErrors {
			to := r.faults
			if l.Tolerates(one) {
				to = tolerated
			}
			to.Add(l.Position(one.Pos), "", "%s", one.Msg)
		}
	}
	if len(r.faults.Faults) > 0 {
		r.faults.Faults = append(r.faults.Faults, tolerated.Faults...)
		return r.err()
	}
	for _, one := range tolerated.Faults {
		r.notes = append(r.notes, "note: "+newDiagnostic(one).String())
	}
	return nil
}
