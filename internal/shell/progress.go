// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

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
