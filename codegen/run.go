// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what Run does. The zero value generates for the package in the
// working directory.
type Options struct {
	// Dir is the working directory, from which patterns and the file names in
	// messages are relative. Empty is the process's.
	Dir string
	// Patterns name the packages, as for go build. Empty is ".".
	Patterns []string
	// Tags are build tags, separated by commas.
	Tags string

	// Check writes nothing: what is out of date is printed as a unified diff,
	// and Run returns ErrOutOfDate.
	Check bool
	// Against is a git revision or a file. A checking Run also compares each
	// package's lock with the one that it had in that revision, or that is in the
	// file, and refuses what the data stored since then would not survive: for CI,
	// where the lock beside the source is the one that was just generated.
	Against string
	// Fix inserts an ID field where it is missing, before generating.
	Fix bool
	// Explain prints what each generated method costs, and writes nothing.
	Explain bool
	// Proto also writes <package>.proto.
	Proto bool

	// Stdout receives diffs and explanations, Stderr notes. nil discards.
	Stdout, Stderr io.Writer
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Check && o.Fix {
		faults = append(faults, errors.New("persistgen: -check writes nothing, so it goes not with -fix"))
	}
	if o.Against != "" && !o.Check {
		faults = append(faults, errors.New("persistgen: -against goes with -check"))
	}
	if o.Explain && (o.Check || o.Fix || o.Proto) {
		faults = append(faults, errors.New("persistgen: -explain only prints; give it alone"))
	}
	if slices.Contains(o.Patterns, "") {
		faults = append(faults, errors.New("persistgen: a package pattern is empty"))
	}
	return errors.Join(faults...)
}

// ErrOutOfDate is returned by a checking Run where generated files or the lock
// file differ from what would be written.
var ErrOutOfDate = errors.New("persistgen: generated files are out of date: run go generate and commit the result")

// Run generates code for the packages of the options. Faults of the annotated
// source are returned together, as [Diagnostics]; then nothing is written. No
// user code is executed. Run may be called concurrently for different
// directories.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	run, err := newRun(ctx, o)
	if err != nil {
		return err
	}
	err = run.generate()
	if o.Fix && len(run.missing) > 0 {
		if err := run.fix(); err != nil {
			return err
		}
		if run, err = newRun(ctx, o); err != nil {
			return err
		}
		err = run.generate()
	}
	if err != nil {
		return err
	}
	for _, note := range run.notes {
		fmt.Fprintln(o.Stderr, note)
	}
	switch {
	case o.Explain:
		return explain(o.Stdout, run.packages)
	case o.Check:
		return run.compare()
	}
	return run.write()
}

// run is one call of Run.
type run struct {
	Options
	loader
	*faults
	packages []*pkg
	missing  []missingID
	notes    []string
	outputs  []output
	ours     map[string][]string
}

// output is a file as it is to be: nil content removes it.
type output struct {
	file    string
	content []byte
}

func newRun(ctx context.Context, o Options) (*run, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("persistgen: working directory: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"."}
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	return &run{
		Options: o,
		loader:  loader{ctx: ctx, dir: dir, tags: o.Tags, patterns: o.Patterns},
		faults:  &faults{dir: dir},
	}, nil
}

// generate computes all outputs, or returns all faults.
func (r *run) generate() error {
	ours, err := r.find()
	if err != nil {
		return err
	}
	r.ours = ours
	loaded, err := r.check(ours, r.faults)
	if err = cmp.Or(err, r.err()); err != nil {
		return err
	}
	for _, l := range loaded {
		r.collect(l)
	}
	r.reportBrokenFields(loaded)
	if err := r.err(); err != nil {
		return err
	}
	for _, p := range r.packages {
		if err := r.produce(p); err != nil {
			return err
		}
	}
	r.removeStale(loaded)
	if err := r.err(); err != nil {
		return err
	}
	return r.recheck(loaded)
}

// err returns the faults as [Diagnostics], or nil.
func (r *run) err() error {
	if len(r.list) == 0 {
		return nil
	}
	return newDiagnostics(r.list)
}

// collect models one package.
func (r *run) collect(l *loadedPackage) {
	p, missing := collect(l, r.faults)
	r.missing = append(r.missing, missing...)
	if len(p.records) > 0 {
		r.packages = append(r.packages, p)
		r.checkForeign(p)
	}
}

// checkForeign refuses to overwrite a file that is not ours.
func (r *run) checkForeign(p *pkg) {
	file := filepath.Join(p.dir, p.name+generatedSuffix)
	content, err := os.ReadFile(file)
	if err == nil && !isGenerated(content) {
		r.add(token.Position{Filename: file, Line: 1}, "", "the file has the name of persistgen's output but was not written by persistgen; rename it")
	}
}

// produce computes the outputs of one package.
func (r *run) produce(p *pkg) error {
	lockFile := filepath.Join(p.dir, lockName)
	old, err := r.readLock(p, lockFile)
	if err != nil || old == nil {
		return err
	}
	e := evolve(p, old, r.faults)
	if err := r.compareWith(e); err != nil {
		return err
	}
	r.notes = append(r.notes, e.notes...)
	if len(r.list) > 0 {
		return nil
	}
	code, err := emit(p)
	if err != nil {
		return err
	}
	r.outputs = append(r.outputs,
		output{filepath.Join(p.dir, p.name+generatedSuffix), code},
		output{lockFile, e.next.Lock()})
	if protoFile := filepath.Join(p.dir, p.name+".proto"); r.Proto {
		r.outputs = append(r.outputs, output{protoFile, emitProto(p, e.next)})
	}
	return nil
}

// removeStale removes generated files that belong to no type any more: of a
// package that was renamed, or whose last persistable type was removed.
func (r *run) removeStale(loaded []*loadedPackage) {
	for _, l := range loaded {
		for _, file := range l.generated {
			content, err := os.ReadFile(file)
			saysSo := err == nil && len(bytes.TrimSpace(content)) > 0
			if saysSo && !slices.ContainsFunc(r.outputs, func(o output) bool { return o.file == file }) {
				r.outputs = append(r.outputs, output{file, nil})
			}
		}
	}
}

// reportBrokenFields reports, where there are faults already, the type errors
// that may have caused them: inside declarations of fields, and of imports.
func (r *run) reportBrokenFields(loaded []*loadedPackage) {
	if len(r.list) == 0 {
		return
	}
	explained := map[token.Position]bool{}
	for _, l := range loaded {
		for _, one := range l.typeErrors {
			if !l.inField(one.Pos) && !strings.HasPrefix(one.Msg, "could not import") {
				continue
			}
			at := l.position(one.Pos)
			r.add(at, "", "%s", one.Msg)
			explained[token.Position{Filename: r.relative(at.Filename), Line: at.Line}] = true
		}
	}
	r.list = slices.DeleteFunc(r.list, func(f finding) bool {
		return f.message == unresolved && explained[token.Position{Filename: f.at.Filename, Line: f.at.Line}]
	})
}

// recheck type-checks the packages with what was generated, if that is new or
// there were type errors without it. The errors that remain are not for want of
// generated code; those that it may tolerate are noted, others are faults.
func (r *run) recheck(loaded []*loadedPackage) error {
	changed := slices.ContainsFunc(r.outputs, func(o output) bool { return strings.HasSuffix(o.file, generatedSuffix) && o.differs() })
	if !changed && !slices.ContainsFunc(loaded, (*loadedPackage).broken) {
		return nil
	}
	for _, o := range r.outputs {
		if strings.HasSuffix(o.file, generatedSuffix) && o.content != nil {
			r.overlay[o.file] = o.content
		}
	}
	again, err := r.check(r.ours, r.faults)
	if err = cmp.Or(err, r.err()); err != nil {
		return err
	}
	tolerated := &faults{dir: r.faults.dir}
	for _, l := range again {
		for _, one := range l.typeErrors {
			to := r.faults
			if l.tolerates(one) {
				to = tolerated
			}
			to.add(l.position(one.Pos), "", "%s", one.Msg)
		}
	}
	if len(r.list) > 0 {
		r.list = append(r.list, tolerated.list...)
		return r.err()
	}
	for _, one := range tolerated.list {
		r.notes = append(r.notes, "note: "+newDiagnostic(one).String())
	}
	return nil
}
