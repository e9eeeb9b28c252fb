// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"go/token"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/collector"
	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
)

// reportBrokenFields reports, where there are faults already, the type errors
// that may have caused them: inside declarations of fields, and of imports. It
// leaves out those that the code to be generated will mend.
func (r *run) reportBrokenFields(loaded []*source.Package) {
	if len(r.faults.Faults) == 0 {
		return
	}
	explained := map[token.Position]bool{}
	for _, f := range r.faults.Faults {
		explained[lineOf(f.At)] = f.Message != collector.Unresolved
	}
	for _, l := range loaded {
		for _, one := range l.TypeErrors {
			at := l.Position(one.Pos)
			line := lineOf(token.Position{Filename: r.faults.Relative(at.Filename), Line: at.Line})
			isImport := strings.HasPrefix(one.Msg, "could not import")
			if isImport && explained[line] || !isImport && !l.IsInField(one.Pos) || r.willDeclare(l, one.Msg) {
				continue
			}
			r.faults.Add(at, "", "%s", one.Msg)
			explained[line] = true
		}
	}
	r.faults.Faults = slices.DeleteFunc(r.faults.Faults, func(f diagnostic.Fault) bool {
		return f.Message == collector.Unresolved && explained[lineOf(f.At)]
	})
}

// lineOf is the line of a position.
func lineOf(at token.Position) token.Position {
	return token.Position{Filename: at.Filename, Line: at.Line}
}

// willDeclare reports whether a type error is about a name that the code to be generated
// declares, for the package itself or for one that it imports.
func (r *run) willDeclare(l *source.Package, message string) bool {
	name, found := strings.CutPrefix(message, "undefined: ")
	_, imported, qualified := strings.Cut(name, ".")
	if qualified {
		name = imported
	}
	for other, p := range r.collected {
		if found && (other == l) != qualified && slices.ContainsFunc(p.Messages, func(m *model.Message) bool { return slices.Contains(m.Declarations(), name) }) {
			return true
		}
	}
	return false
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
	var tolerated []typeError
	for _, l := range again {
		if l.NotVendored { // an import is not in the folder vendor yet, which a note says
			continue
		}
		for _, one := range l.TypeErrors {
			if at := l.Position(one.Pos); l.Tolerates(one) {
				tolerated = append(tolerated, typeError{at, one.Msg})
			} else {
				r.faults.Add(at, "", "%s", one.Msg)
			}
		}
	}
	report := r.faults.Note
	if len(r.faults.Faults) > 0 {
		report = func(at token.Position, format string, args ...any) { r.faults.Add(at, "", format, args...) }
	}
	for _, one := range tolerated {
		report(one.at, "%s", one.message)
	}
	return r.err()
}

// typeError is an error of the type checker.
type typeError struct {
	at      token.Position
	message string
}
