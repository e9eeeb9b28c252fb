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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/codegen/internal/collector"
	"github.com/kazahana-db/kazahana/codegen/internal/cost"
	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/graph"
	"github.com/kazahana-db/kazahana/codegen/internal/lock"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/rogpeppe/go-internal/diff"
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
	// package's lock with the one in that revision or file, and refuses what the
	// data stored since then would not survive. CI needs it, because there the lock
	// in the package's folder is the one that was just generated.
	Against string
	// Fix inserts an ID field where it is missing, before generating.
	Fix bool
	// Explain prints what each generated method costs, and writes nothing.
	Explain bool
	// Proto also writes <package>.proto.
	Proto bool

	// Graph prints the types, their directories and indexes as a graph in this language,
	// GraphMermaid or GraphDOT, and writes nothing. With GraphInto it is the language there.
	Graph string
	// GraphInto is a Markdown file, relative to Dir. Run also writes the graph into it,
	// between the lines <!-- persistgen:graph --> and <!-- /persistgen:graph -->.
	GraphInto string
	// Poll is the interval in which Watch looks at the files, for file systems without
	// events, as over a network. 0 is for events. Run does not use it.
	Poll time.Duration

	// Stdout receives diffs and explanations, Stderr notes. nil discards.
	Stdout, Stderr io.Writer

	// Command sets it where go generate runs it in the folder of a package: names of
	// files in messages are absolute, because an editor runs go generate elsewhere.
	absolute bool

	// Tests set these: the environment of the go command and of git, nil for the
	// process's, and what earlier runs loaded.
	env          []string
	dependencies *source.Dependencies
}

// The languages of graphs.
const (
	GraphMermaid = "mermaid" // https://mermaid.js.org, a flowchart
	GraphDOT     = "dot"     // https://graphviz.org
)

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Check && o.Fix {
		faults = append(faults, errors.New("persistgen: -check writes nothing, but -fix does: give one of them"))
	}
	if o.Against != "" && !o.Check {
		faults = append(faults, errors.New("persistgen: -against goes with -check"))
	}
	if o.Explain && (o.Check || o.Fix || o.Proto) {
		faults = append(faults, errors.New("persistgen: -explain only prints: remove -check, -fix and -proto"))
	}
	if !slices.Contains([]string{"", GraphMermaid, GraphDOT}, o.Graph) {
		faults = append(faults, fmt.Errorf("persistgen: -graph=%s: draw it in mermaid or in dot", o.Graph))
	}
	if o.printsGraph() && (o.Check || o.Fix || o.Proto || o.Explain) {
		faults = append(faults, errors.New("persistgen: -graph only prints: remove -check, -fix, -proto and -explain, or give -graph-into"))
	}
	if o.Explain && o.GraphInto != "" {
		faults = append(faults, errors.New("persistgen: -explain only prints: remove -graph-into"))
	}
	if o.Poll < 0 {
		faults = append(faults, fmt.Errorf("persistgen: the interval %s of -poll is negative", o.Poll))
	}
	if slices.Contains(o.Patterns, "") {
		faults = append(faults, errors.New("persistgen: a package pattern is empty"))
	}
	return errors.Join(faults...)
}

// validateWatch refuses options that write nothing, or write into the source.
func (o Options) validateWatch() error {
	if o.Check || o.Fix || o.Explain || o.printsGraph() {
		return errors.New("persistgen: -watch writes what is generated, again and again: remove -check, -fix, -explain, and -graph without -graph-into")
	}
	return nil
}

// printsGraph reports whether the graph is printed, and nothing else done.
func (o Options) printsGraph() bool { return o.Graph != "" && o.GraphInto == "" }

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
		if err := run.insertMissingIDs(); err != nil {
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
	for _, note := range newDiagnostics(run.faults.Notes) {
		fmt.Fprintln(run.options.Stderr, note)
	}
	switch {
	case o.Explain:
		return cost.Explain(run.options.Stdout, run.packages)
	case o.printsGraph():
		return run.printGraph()
	case o.Check:
		return cmp.Or(run.printDiffs(), run.checkCompared())
	}
	_, err = run.writeOutputs()
	return err
}

// run is one call of Run.
type run struct {
	options   Options
	loader    source.Loader
	faults    *diagnostic.List
	packages  []*model.Package
	collected map[*source.Package]*model.Package
	missing   []collector.MissingID
	outputs   []output.File
	ours      map[string][]string

	locks  map[string]*schema.Schema // of the module, by file; nil: they were not read
	commit string                    // that -against names; empty: it names a file, or was not looked at
	left   []lock.Predecessor        // the locks at the commit, without the types that are still where they were; nil: they were not read
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
		options:   o,
		loader:    source.Loader{Ctx: ctx, Dir: dir, Tags: o.Tags, Patterns: o.Patterns, Env: o.env, Dependencies: o.dependencies},
		faults:    &diagnostic.List{Dir: dir, Absolute: o.absolute},
		collected: map[*source.Package]*model.Package{},
	}, nil
}

// err returns the faults as [Diagnostics], or nil.
func (r *run) err() error {
	if len(r.faults.Faults) == 0 {
		return nil
	}
	return newDiagnostics(r.faults.Faults)
}

// writeOutputs brings the outputs to disk, and returns those that have changed. The locks
// are first and the code is last: code never has numbers that its lock does not have, even
// if a write fails. A lock that is ahead of its code gives the fields the same numbers in
// the next run.
func (r *run) writeOutputs() ([]output.File, error) {
	slices.SortStableFunc(r.outputs, func(a, b output.File) int { return cmp.Compare(writeOrder(a), writeOrder(b)) })
	changed, err := output.WriteAll(r.outputs)
	if err != nil {
		err = fmt.Errorf("persistgen: %w", err)
	}
	return changed, err
}

func writeOrder(o output.File) int {
	switch {
	case filepath.Base(o.Path) == lock.FileName:
		return 0
	case o.Content == nil:
		return 3
	case strings.HasSuffix(o.Path, output.GeneratedSuffix):
		return 2
	}
	return 1
}

// printDiffs prints what write would change, as a unified diff.
func (r *run) printDiffs() error {
	stale := false
	for _, o := range r.outputs {
		if !o.Differs() {
			continue
		}
		old, err := os.ReadFile(o.Path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("persistgen: %w", err)
		}
		stale = true
		name := r.faults.Relative(o.Path)
		text := diff.Diff(name, output.UnixLines(old), name+" (generated)", o.Content)
		_, text, _ = bytes.Cut(text, []byte("\n")) // the first line says "diff" and repeats the names
		if _, err := r.options.Stdout.Write(text); err != nil {
			return fmt.Errorf("persistgen: print the diff: %w", err)
		}
	}
	if stale {
		return ErrOutOfDate
	}
	return nil
}

// drawGraph returns the graph of all packages, in the language of the options.
func (r *run) drawGraph() (language string, text []byte) {
	g := graph.New(r.packages)
	if language = cmp.Or(r.options.Graph, GraphMermaid); language == GraphDOT {
		return language, g.DOT()
	}
	return language, g.Mermaid()
}

func (r *run) printGraph() error {
	_, text := r.drawGraph()
	if _, err := r.options.Stdout.Write(text); err != nil {
		return fmt.Errorf("persistgen: print the graph: %w", err)
	}
	return nil
}

// insertGraph makes the Markdown file an output, if there is one to write.
func (r *run) insertGraph() error {
	file := r.options.GraphInto
	if file == "" || len(r.faults.Faults) > 0 {
		return nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.loader.Dir, file)
	}
	markdown, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("persistgen: -graph-into: %w", err)
	}
	language, text := r.drawGraph()
	content, err := graph.Insert(output.UnixLines(markdown), language, text)
	if fault, ok := errors.AsType[*graph.MarkerError](err); ok {
		r.faults.Add(token.Position{Filename: file, Line: fault.Line}, "", "%s", fault.Message)
		return nil
	}
	r.outputs = append(r.outputs, output.File{Path: file, Content: content})
	return err
}

// insertMissingIDs inserts the missing ID fields, file by file.
func (r *run) insertMissingIDs() error {
	byFile := map[string][]string{}
	for _, m := range r.missing {
		byFile[m.At.Filename] = append(byFile[m.At.Filename], m.GoName)
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		names := byFile[file]
		source, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("persistgen: -fix: %w", err)
		}
		fixed, err := insertIDs(file, source, names)
		if err != nil {
			return fmt.Errorf("persistgen: -fix %s: %w", r.faults.Relative(file), err)
		}
		if err := output.ReplaceFile(file, fixed); err != nil {
			return fmt.Errorf("persistgen: -fix %s: %w", r.faults.Relative(file), err)
		}
		for _, name := range names {
			fmt.Fprintf(r.options.Stderr, "fixed: %s: %s: added ID idgen.ID\n", r.faults.Relative(file), name)
		}
	}
	return nil
}
