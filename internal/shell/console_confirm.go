// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

const yesFlag = "yes"

// AddYes adds the flag --yes to a verb that calls [Console.Confirm].
func AddYes(cmd *cobra.Command) {
	cmd.Flags().BoolP(yesFlag, "y", false, "do not ask")
}

// ErrDeclined says that a person answered no.
var ErrDeclined = errors.New("nothing was changed")

// Confirm shows what a verb is about to do, as lines, and asks whether it may. Without
// a terminal, or with --json, it does not ask: without --yes the error is one of misuse,
// and the verb must do nothing.
func (c *Console) Confirm(cmd *cobra.Command, lines []string, question string) error {
	agreed, err := cmd.Flags().GetBool(yesFlag)
	if err != nil {
		return err
	}
	if !c.JSON {
		for _, line := range lines {
			fmt.Fprintln(c.Err, Flat(line))
		}
	}
	switch {
	case agreed:
		return nil
	case !c.Interactive():
		return &ExitError{ExitMisuse, fmt.Errorf("%s There is no terminal to ask on, so nothing was changed: repeat the command with --%s", question, yesFlag)}
	}
	fmt.Fprintf(Escaping(c.questions(), &c.JSON), "%s [y/N] ", question)
	answer, err := c.readAnswer(cmd.Context())
	if err != nil {
		return fmt.Errorf("%w: reading the answer: %w", ErrDeclined, err)
	}
	if answer := strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return ErrDeclined
	}
	return nil
}

// LineReader is an input with reads that end with a context. It then keeps what is
// typed later for its next reader.
type LineReader interface {
	// ReadLine returns a line with its newline, or the cause of ctx's end.
	ReadLine(ctx context.Context) (string, error)
}

// readAnswer reads a line of the input. It returns when ctx ends.
func (c *Console) readAnswer(ctx context.Context) (string, error) {
	in, ok := c.In.(LineReader)
	if !ok {
		in = lastLine{c.In}
	}
	text, err := in.ReadLine(ctx)
	if ctx.Err() != nil && err != nil {
		fmt.Fprintln(c.Err)
	}
	return text, err
}

// lastLine is the input of a process that ends after its question: when the context ends,
// the read goes on, and ends with the process.
type lastLine struct{ from io.Reader }

// ReadLine implements [LineReader].
func (l lastLine) ReadLine(ctx context.Context) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(l.from).ReadString('\n')
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Progress is a bar on the terminal that shows how far a long verb is. A nil *Progress
// shows nothing. Set and Finish may be called by one goroutine at a time.
type Progress struct {
	bars  *mpb.Progress
	bar   *mpb.Bar
	total int64 // 0: unknown
}

// Unit is what a progress counts.
type Unit int

// The units of a progress.
const (
	Things Unit = iota // counted one by one
	Bytes              // shown as kB, MB, …
)

// StartProgress shows a bar for a verb that takes long, if errors go to a terminal and
// the results are not JSON. The total may be an estimate, or 0: unknown; [Progress.Set]
// may exceed it.
func (c *Console) StartProgress(name string, total int64, unit Unit) *Progress {
	if c.errTerminal == nil || c.JSON {
		return nil
	}
	p := &Progress{total: total}
	p.bars = mpb.New(mpb.WithOutput(c.errTerminal), mpb.WithWidth(60), mpb.WithRefreshRate(100*time.Millisecond))
	p.bar = p.bars.New(0, p.style(), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name, decor.WC{C: decor.DindentRight | decor.DextraSpace})),
		mpb.AppendDecorators(p.counter(unit)))
	p.bar.SetTotal(total, false)
	return p
}

func (p *Progress) style() mpb.BarFillerBuilder {
	if p.total <= 0 {
		return mpb.SpinnerStyle()
	}
	return mpb.BarStyle()
}

func (p *Progress) counter(unit Unit) decor.Decorator {
	switch {
	case unit == Bytes && p.total > 0:
		return decor.Counters(decor.SizeB1000(0), "% .1f of % .1f")
	case unit == Bytes:
		return decor.Current(decor.SizeB1000(0), "% .1f")
	case p.total > 0:
		return decor.CountersNoUnit("%d of %d")
	}
	return decor.CurrentNoUnit("%d")
}

// Set shows how much is done.
func (p *Progress) Set(done int64) {
	if p == nil {
		return
	}
	if done > p.total {
		p.total = done
		p.bar.SetTotal(done, false)
	}
	p.bar.SetCurrent(done)
}

// Finish removes the bar, whether or not the verb has succeeded.
func (p *Progress) Finish() {
	if p == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}
