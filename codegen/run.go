// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/kazahana-db/kazahana/codegen/internal/collector"
	"github.com/kazahana-db/kazahana/codegen/internal/cost"
	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/lock"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
	"github.com/kazahana-db/kazahana/internal/schema"
)

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
