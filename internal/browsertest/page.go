// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds the time of a step. It is long, because the machine may be busy with other
// tests; a step seldom takes a second.
const patience = time.Minute

// Page is a page in a headless Chromium, for one test at a time.
type Page struct {
	*testing.T
	Base string // the address that the pages of the test begin with

	ctx    context.Context
	faults *faults
}

// faults are what the browser reported.
type faults struct {
	base string
	mu   sync.Mutex
	seen []string // errors of the pages, and requests to other hosts
}

// Open starts a Chromium for pages whose addresses begin with base. It ends with t, which then
// fails if the browser has reported a fault.
func Open(t *testing.T, base string) *Page {
	t.Helper()
	p := &Page{T: t, Base: base, ctx: start(t), faults: &faults{base: base}}
	if err := chromedp.Listen(p.ctx, p.faults.note); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.WantQuiet)
	return p
}

// For returns the page for a subtest, which is told of what fails.
func (b *Page) For(t *testing.T) *Page {
	sub := *b
	sub.T = t
	return &sub
}

// WantQuiet fails the test if the browser has reported faults, and forgets them.
func (b *Page) WantQuiet() {
	b.Helper()
	for _, fault := range b.faults.take() {
		b.Error(fault)
	}
}

func (f *faults) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.seen
	f.seen = nil
	return seen
}

// note notes faults of a page that the browser reports. Browsers also report a refused request,
// and a page that did not move the focus because the user, here the test, had set it already:
// these are not faults.
func (f *faults) note(event any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := func(parts ...string) { f.seen = append(f.seen, strings.Join(parts, " ")) }
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		fault("the page wrote to the console:", string(e.Type))
	case *runtime.EventExceptionThrown:
		fault("an exception:", e.ExceptionDetails.Text, thrown(e))
	case *log.EventEntryAdded:
		refused := e.Entry.Source == "network" && strings.Contains(e.Entry.Text, "status of 4")
		focused := string(e.Entry.Level) == "info" && strings.HasPrefix(e.Entry.Text, "Autofocus processing was blocked")
		if !refused && !focused {
			fault(string(e.Entry.Level), string(e.Entry.Source), e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && !strings.HasPrefix(e.Request.URL, f.base) {
			fault("a request to", e.Request.URL)
		}
	}
}

// thrown describes what was thrown.
func thrown(e *runtime.EventExceptionThrown) string {
	if e.ExceptionDetails.Exception == nil {
		return ""
	}
	return e.ExceptionDetails.Exception.Description
}
