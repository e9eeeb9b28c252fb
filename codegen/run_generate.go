// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"cmp"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/collector"
	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/emitter"
	"github.com/kazahana-db/kazahana/codegen/internal/lock"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// generate computes all outputs, or returns all faults.
func (r *run) generate() error {
	ours, err := r.loader.PrepareStubs(r.faults)
	if err = cmp.Or(err, r.err()); err != nil {
		return err
	}
	r.ours = ours
	loaded, err := r.loader.Check(ours, r.faults)
	if err != nil {
		return err
	}
	for _, l := range r.collectPackages(loaded) {
		if err := r.computeOutputs(l); err != nil {
			return err
		}
	}
	r.reportBrokenFields(loaded)
	r.reportUnread(loaded)
	r.removeStale(loaded)
	if err := cmp.Or(r.insertGraph(), r.err()); err != nil {
		return err
	}
	return r.recheck(loaded)
}

// collectPackages models the packages, and returns those without faults: faults of a
// package do not keep others from reporting their own.
func (r *run) collectPackages(loaded []*source.Package) (sound []*source.Package) {
	for _, l := range loaded {
		if l.Unusable {
			continue
		}
		before := len(r.faults.Faults)
		p := r.collectPackage(l)
		if len(r.faults.Faults) == before && len(p.Records) > 0 {
			sound = append(sound, l)
		}
	}
	return sound
}

// collectPackage models one package.
func (r *run) collectPackage(l *source.Package) *model.Package {
	p, missing := collector.Collect(l, r.faults)
	r.collected[l] = p
	r.missing = append(r.missing, missing...)
	if len(p.Records) > 0 {
		r.packages = append(r.packages, p)
		r.checkForeign(p)
	}
	return p
}

// checkForeign refuses to overwrite files of a package that are not ours. That a lock is
// ours its text shows, and of a Markdown file only what is between markers.
func (r *run) checkForeign(p *model.Package) {
	r.checkOwn(filepath.Join(p.Dir, p.Name+output.GeneratedSuffix))
	if r.options.Proto {
		r.checkOwn(protoFileOf(p))
	}
}

// protoFileOf returns where -proto writes.
func protoFileOf(p *model.Package) string { return filepath.Join(p.Dir, p.Name+".proto") }

// checkOwn refuses to overwrite a file that is not ours.
func (r *run) checkOwn(file string) {
	content, err := os.ReadFile(file)
	if err == nil && !output.IsGenerated(content) {
		r.faults.Add(token.Position{Filename: file, Line: 1}, "", "the file has the name of persistgen's output but was not written by persistgen; rename it")
	}
}

// computeOutputs computes the outputs of one package.
func (r *run) computeOutputs(l *source.Package) error {
	p := r.collected[l]
	lockFile := filepath.Join(p.Dir, lock.FileName)
	old, err := r.readLock(p, lockFile)
	if err != nil || old == nil {
		return err
	}
	r.reportMovedHere(p, old)
	e := lock.Evolve(p, old, r.faults)
	if err := r.compareWith(e); err != nil {
		return err
	}
	if len(r.faults.Faults) > 0 {
		return nil
	}
	code, hidden, err := emitter.Code(p)
	if err != nil {
		return err
	}
	for _, name := range hidden {
		r.faults.Add(l.Position(p.Types.Scope().Lookup(name).Pos()), name, "generated code needs the predeclared %s, which this declaration hides; rename it", name)
	}
	r.outputs = append(r.outputs,
		output.File{Path: filepath.Join(p.Dir, p.Name+output.GeneratedSuffix), Content: code},
		output.File{Path: lockFile, Content: e.Next.Lock()})
	if r.options.Proto {
		r.outputs = append(r.outputs, output.File{Path: protoFileOf(p), Content: emitter.Proto(p, e.Next)})
	}
	return nil
}

// removeStale removes generated files without a type: those of a package that was
// renamed, or that lost its last persistable type.
func (r *run) removeStale(loaded []*source.Package) {
	for _, l := range loaded {
		for _, file := range l.Generated {
			content, err := os.ReadFile(file)
			saysSo := err == nil && len(bytes.TrimSpace(content)) > 0
			if saysSo && !slices.ContainsFunc(r.outputs, func(o output.File) bool { return o.Path == file }) {
				r.outputs = append(r.outputs, output.File{Path: file})
			}
		}
	}
}

// reportUnread tells of annotations that have no effect: on structs that no type with a
// marker holds, and in files that the build leaves out.
func (r *run) reportUnread(loaded []*source.Package) {
	isRead := func(at token.Pos) bool {
		return slices.ContainsFunc(loaded, func(l *source.Package) bool { return l.Read[at] })
	}
	for _, l := range loaded {
		for _, at := range l.UnreadTags(isRead, tags.HasPersist) {
			r.faults.Note(at, "the persist tags of this struct have no effect: it has no marker, and no persistable type that was read with it holds it; "+
				"a marker such as _ persistable.Type `persist:\"Order\"` makes it persistable")
		}
	}
	for _, one := range r.loader.LeftOut(loaded) {
		switch {
		case !one.Marked:
		case one.Test:
			r.faults.Add(one.At, one.Name, "persistgen generates no code for tests; move the type into a file that is not a test")
		default:
			r.faults.Note(one.At, "%s is not generated, because the build leaves its file out (%s): if you want it, run persistgen with -tags, or GOOS and GOARCH, that take it in", one.Name, one.Constraint)
		}
	}
}

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
