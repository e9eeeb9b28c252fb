// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

// screenshots names the folder for screenshots; "": the tests take none.
const screenshots = "CONSOLE_SCREENSHOTS"

// patience bounds the time of a step. It is long, because the machine may be busy with other
// tests; a step seldom takes a second.
const patience = time.Minute

// chromium returns the path of a Chromium. Without one the test is skipped, or fails in CI.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no Chromium on PATH; the console is not tested in a browser (apt-get install chromium)"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// browser is a page in a headless Chromium.
type browser struct {
	*testing.T
	ctx  context.Context
	base string // address of the console

	mu     sync.Mutex
	faults []string // errors of the console, and requests to other hosts
}

// browse opens the console of a service.
func browse(t *testing.T, s service) *browser {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir())}
	for _, flag := range []string{"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx, base: server.URL + "/admin/"}
	if err := chromedp.Listen(ctx, b.noteFault); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.wantQuiet)
	return b
}

// noteFault notes faults of a page that the browser reports. Browsers also report a refused login,
// a form that is sent back, and a page that did not move the focus because the user, here the
// test, had set it already: these are not faults.
func (b *browser) noteFault(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fault := func(parts ...string) { b.faults = append(b.faults, strings.Join(parts, " ")) }
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		fault("the page wrote to the console:", string(e.Type))
	case *runtime.EventExceptionThrown:
		fault("an exception:", e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		refused := e.Entry.Source == "network" && strings.Contains(e.Entry.Text, "status of 4")
		focused := string(e.Entry.Level) == "info" && strings.HasPrefix(e.Entry.Text, "Autofocus processing was blocked")
		if !refused && !focused {
			fault(string(e.Entry.Level), string(e.Entry.Source), e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && !strings.HasPrefix(e.Request.URL, b.base) {
			fault("a request to", e.Request.URL)
		}
	}
}

func (b *browser) wantQuiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		b.Error(fault)
	}
}

// runSteps runs steps, each within patience.
func (b *browser) runSteps(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.Fatalf("step %d: %v at %s", i+1, err, b.visibleText("body"))
		}
	}
}

// openPage opens a page of the console.
func (b *browser) openPage(page string) {
	b.Helper()
	b.runSteps(chromedp.Navigate(b.base + page))
}

// click clicks, and waits for the page that follows.
func (b *browser) click(selector string) {
	b.Helper()
	b.leavePage(chromedp.Click(chromedp.CSS(selector)))
}

// leavePage runs a step that leads to another page, and waits for that page.
func (b *browser) leavePage(step chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, step); err != nil {
		b.Fatalf("%v at %s", err, b.visibleText("body"))
	}
}

// fillInput replaces the text of an input.
func (b *browser) fillInput(selector, text string) {
	b.Helper()
	b.runSteps(chromedp.Evaluate[chromedp.Void]("document.querySelector('"+selector+"').value = ''"), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// pressKeys presses keys, wherever the focus is.
func (b *browser) pressKeys(text string, options ...chromedp.KeyOption) {
	b.Helper()
	b.runSteps(chromedp.KeyEvent(text, options...))
}

// evaluate returns the value of a JavaScript expression.
func evaluate[T any](b *browser, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// visibleText returns the visible text of an element; "" if there is none.
func (b *browser) visibleText(selector string) string {
	b.Helper()
	return evaluate[string](b, `document.querySelector(`+"`"+selector+"`"+`)?.innerText ?? ""`)
}

// wantText fails the test unless an element shows a text.
func (b *browser) wantText(selector, text string) {
	b.Helper()
	if got := b.visibleText(selector); !strings.Contains(got, text) {
		b.Errorf("%s is %q, want %q", selector, got, text)
	}
}

// wantSoon waits until an element shows a text.
func (b *browser) wantSoon(selector, text string) {
	b.Helper()
	if !b.awaitTrue("(document.querySelector(`" + selector + "`)?.innerText ?? '').includes(`" + text + "`)") {
		b.Errorf("%s is %q, want %q", selector, b.visibleText(selector), text)
	}
}

// wantFocus waits until an element has the focus.
func (b *browser) wantFocus(id string) {
	b.Helper()
	if !b.awaitTrue("document.activeElement.id === '" + id + "'") {
		b.Errorf("the focus is at %s, not at %s", evaluate[string](b, "document.activeElement.outerHTML"), id)
	}
}

// awaitTrue asks until a JavaScript expression is true, and reports whether it was within patience.
// It asks again after an error, because the browser answers with one while it replaces the page. If
// the expression never becomes true, the log of the test has the last error.
func (b *browser) awaitTrue(expression string) bool {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	var last error
	for sleep.For(ctx, 20*time.Millisecond) == nil {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if holds {
			return true
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
	}
	b.Logf("%s did not become true; the last error: %v", expression, last)
	return false
}

// takeScreenshots takes a screenshot of the whole page for each look.
func (b *browser) takeScreenshots(name string) {
	b.Helper()
	folder := os.Getenv(screenshots)
	if folder == "" {
		return
	}
	for _, look := range looks {
		b.setLook(look)
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+"-"+look.name+".png"), picture, 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.setLook(looks[0])
}

// look is a width of the window and a colour scheme.
type look struct {
	name          string
	width, height int64
	scheme        string
}

var looks = []look{{"light", 1200, 800, "light"}, {"dark", 1200, 800, "dark"}, {"phone", 320, 640, "light"}, {"phone-dark", 320, 640, "dark"}}

func (b *browser) setLook(l look) {
	b.Helper()
	b.runSteps(chromedp.EmulateViewport(l.width, l.height))
	scheme := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, scheme); err != nil {
		b.Fatal(err)
	}
}
