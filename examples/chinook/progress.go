// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far the loader is.
type progress interface {
	// start begins a table. The function it returns is called after each batch
	// that is in the database for certain, with the number of its rows and of
	// those among them that were stored just now.
	start(table string, total int) func(rows, stored int)
	// finish is called at the end, also of a loader that has failed.
	finish()
}

// progressOn returns bars for a terminal and lines for anything else.
func progressOn(out io.Writer) progress {
	if f, ok := out.(*os.File); ok && cwriter.IsTerminal(int(f.Fd())) {
		return &bars{container: mpb.New(mpb.WithOutput(out), mpb.WithWidth(40))}
	}
	return plain{out}
}

// plain prints a line for each batch.
type plain struct{ out io.Writer }

func (p plain) start(table string, total int) func(rows, stored int) {
	done := 0
	return func(rows, stored int) {
		done += rows
		fmt.Fprintf(p.out, "loading %s: %d of %d (%d new)\n", table, done, total, stored)
	}
}

func (plain) finish() {}

// bars draws a bar for each table.
type bars struct {
	container *mpb.Progress
	all       []*mpb.Bar
}

func (b *bars) start(table string, total int) func(rows, stored int) {
	bar := b.container.AddBar(int64(total),
		mpb.PrependDecorators(decor.Name(table, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d of %d", decor.WCSyncSpace)))
	b.all = append(b.all, bar)
	return func(rows, _ int) { bar.IncrBy(rows) }
}

func (b *bars) finish() {
	for _, bar := range b.all {
		bar.Abort(false) // no effect on a bar that is complete
	}
	b.container.Wait()
}
