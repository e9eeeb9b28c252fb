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
)

// screenshots names the folder that the tests put screenshots into; none are taken if it is empty.
const screenshots = "CONSOLE_SCREENSHOTS"

// patience is how long the browser may take for a step. It is long, because the machine may
// be busy with other tests; a step seldom takes a second.
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
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.wantQuiet)
	return b
}

// hear notes what a page must not do. A refused login, and a form that is sent back, are in the
// console of every browser: those are answers, not faults. So is the note that a page
// did not move the focus, because a fast user, here the test, had set it already.
func (b *browser) hear(event any) {
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

// do runs steps, each of which has as long as patience.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.Fatalf("step %d: %v at %s", i+1, err, b.text("body"))
		}
	}
}

// open opens a page of the console.
func (b *browser) open(page string) {
	b.Helper()
	b.do(chromedp.Navigate(b.base + page))
}

// click clicks, and waits for the page that follows.
func (b *browser) click(selector string) {
	b.Helper()
	b.leave(chromedp.Click(chromedp.CSS(selector)))
}

// leave does what leads to another page, and waits for it.
func (b *browser) leave(step chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, step); err != nil {
		b.Fatalf("%v at %s", err, b.text("body"))
	}
}

// fill types into an input in the place of what it has.
func (b *browser) fill(selector, text string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('"+selector+"').value = ''"), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// keys presses keys, wherever the focus is.
func (b *browser) keys(text string, options ...chromedp.KeyOption) {
	b.Helper()
	b.do(chromedp.KeyEvent(text, options...))
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

// text returns what a reader sees of an element; "" if there is none.
func (b *browser) text(selector string) string {
	b.Helper()
	return evaluate[string](b, `document.querySelector(`+"`"+selector+"`"+`)?.innerText ?? ""`)
}

// want fails the test unless an element shows a text.
func (b *browser) want(selector, text string) {
	b.Helper()
	if got := b.text(selector); !strings.Contains(got, text) {
		b.Errorf("%s is %q, want %q", selector, got, text)
	}
}

// wantSoon waits until an element shows a text.
func (b *browser) wantSoon(selector, text string) {
	b.Helper()
	if !b.await("(document.querySelector(`" + selector + "`)?.innerText ?? '').includes(`" + text + "`)") {
		b.Errorf("%s is %q, want %q", selector, b.text(selector), text)
	}
}

// wantFocus waits until an element has the focus.
func (b *browser) wantFocus(id string) {
	b.Helper()
	if !b.await("document.activeElement.id === '" + id + "'") {
		b.Errorf("the focus is at %s, not at %s", evaluate[string](b, "document.activeElement.outerHTML"), id)
	}
}

// await waits until a JavaScript expression is true, and reports whether it was within
// patience.
func (b *browser) await(expression string) bool {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression))
	return err == nil
}

// shoot takes a screenshot of the whole page in each way to look at it.
func (b *browser) shoot(name string) {
	b.Helper()
	folder := os.Getenv(screenshots)
	if folder == "" {
		return
	}
	for _, look := range looks {
		b.look(look)
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+"-"+look.name+".png"), picture, 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.look(looks[0])
}

// look is a way to look at a page.
type look struct {
	name          string
	width, height int64
	scheme        string
}

var looks = []look{{"light", 1200, 800, "light"}, {"dark", 1200, 800, "dark"}, {"phone", 320, 640, "light"}, {"phone-dark", 320, 640, "dark"}}

func (b *browser) look(l look) {
	b.Helper()
	b.do(chromedp.EmulateViewport(l.width, l.height))
	scheme := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, scheme); err != nil {
		b.Fatal(err)
	}
}
