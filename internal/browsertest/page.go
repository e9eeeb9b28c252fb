// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"context"
	"net/url"
	"os"
	"os/exec"
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

// Open starts a Chromium for pages with addresses that begin with base. It ends with t, which then
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

// note notes faults of a page that the browser reports. Browsers also report a refused request, or one in an outage,
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
		refused := e.Entry.Source == "network" && (strings.Contains(e.Entry.Text, "status of 4") || strings.Contains(e.Entry.Text, "status of 503"))
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

// findChromium returns the path of a Chromium. Without one the test is skipped, or fails in CI.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no Chromium on PATH; the pages are not tested in a browser (apt-get install chromium)"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// start starts a Chromium, which ends with t, and returns the context of its page.
func start(t *testing.T) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(findChromium(t))}
	for _, flag := range []string{"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// RunSteps runs steps, each within patience.
func (b *Page) RunSteps(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.Fatalf("step %d: %v at %s", i+1, err, b.VisibleText("body"))
		}
	}
}

// OpenPage opens a page. Its address is relative to Base.
func (b *Page) OpenPage(page string) {
	b.Helper()
	b.RunSteps(chromedp.Navigate(b.Base + page))
}

// Click clicks, and waits for the page that follows.
func (b *Page) Click(selector string) {
	b.Helper()
	b.LeavePage(chromedp.Click(chromedp.CSS(selector)))
}

// LeavePage runs a step that leads to another page, and waits for that page.
func (b *Page) LeavePage(step chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, step); err != nil {
		b.Fatalf("%v at %s", err, b.VisibleText("body"))
	}
}

// FillInput replaces the text of an input.
func (b *Page) FillInput(selector, text string) {
	b.Helper()
	b.RunSteps(chromedp.Evaluate[chromedp.Void]("document.querySelector('"+selector+"').value = ''"), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// PressKeys presses keys, wherever the focus is.
func (b *Page) PressKeys(text string, options ...chromedp.KeyOption) {
	b.Helper()
	b.RunSteps(chromedp.KeyEvent(text, options...))
}
