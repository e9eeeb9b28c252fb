// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

// unlabelled returns the controls of a page without a name for screen readers, duplicate ids, missing
// descriptions, headings that leave a level out, and elements wider than the page.
const unlabelled = `(() => {
  const faults = [];
  for (const e of document.querySelectorAll('input:not([type=hidden]):not([hidden]), select, textarea'))
    if (![...e.labels ?? []].some(l => l.textContent.trim()) && !e.getAttribute('aria-label')) faults.push('no label: ' + e.outerHTML);
  for (const e of document.querySelectorAll('button, a[href], summary'))
    if (!(e.getAttribute('aria-label') || e.textContent.trim())) faults.push('no name: ' + e.outerHTML);
  for (const e of document.querySelectorAll('svg'))
    if (!e.getAttribute('aria-label') || e.getAttribute('role') !== 'img') faults.push('no words: ' + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) faults.push('no alt: ' + e.outerHTML);
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (ids.has(e.id)) faults.push('twice: ' + e.id);
    ids.add(e.id);
  }
  for (const name of ['aria-describedby', 'aria-labelledby', 'for'])
    for (const e of document.querySelectorAll('[' + name + ']'))
      for (const id of e.getAttribute(name).split(' ')) if (!ids.has(id)) faults.push(name + ' of nothing: ' + e.outerHTML);
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3')) {
    const next = Number(e.tagName[1]);
    if (next > level + 1) faults.push('level: ' + e.outerHTML);
    level = next;
  }
  if (document.querySelectorAll('h1').length !== 1) faults.push('headings of level 1: ' + document.querySelectorAll('h1').length);
  if (document.querySelectorAll('main').length !== 1 || !document.documentElement.lang || !document.title) faults.push('no main, language or title');
  return faults;
})()`

// CheckPage makes the checks of a page that need no person, at each width, and takes
// screenshots.
func (b *Page) CheckPage(name string) {
	b.Helper()
	for _, fault := range Evaluate[[]string](b, unlabelled) {
		b.Errorf("%s: %s", name, fault)
	}
	for _, l := range []look{looks[2], looks[0]} { // the second is that of the page that follows
		b.setLook(l)
		if wider := Evaluate[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wider > 0 {
			b.Errorf("%s: at %d pixels the page is %d wider", name, l.width, wider)
		}
	}
	b.TakeScreenshots(name)
}

// TabTo presses Tab until the element with the focus shows a text.
func (b *Page) TabTo(text string) {
	b.Helper()
	for range 30 {
		b.PressKeys(kb.Tab)
		if strings.HasPrefix(b.VisibleText(":focus"), text) {
			if Evaluate[string](b, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
				b.Errorf("the focus at %q cannot be seen", text)
			}
			return
		}
	}
	b.Fatalf("Tab does not come to %q", text)
}

// WantNoTraps goes through the page by Tab: each control comes once, and then the page ends.
func (b *Page) WantNoTraps() {
	b.Helper()
	count := Evaluate[int](b, "document.querySelectorAll('a[href], button:not([tabindex=\"-1\"]):not([hidden]), input:not([type=hidden]), select, summary').length")
	b.RunSteps(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	seen := map[string]bool{}
	for range count {
		b.PressKeys(kb.Tab)
		name := Evaluate[string](b, "document.activeElement.outerHTML")
		if seen[name] || strings.HasPrefix(name, "<body") {
			b.Errorf("the focus comes to %s again, or leaves before the end", name)
		}
		seen[name] = true
	}
}

// Screenshots is the variable that names the folder for screenshots; without it, tests take
// none.
const Screenshots = "BROWSER_SCREENSHOTS"

// TakeScreenshots takes a screenshot of the whole page for each look.
func (b *Page) TakeScreenshots(name string) {
	b.Helper()
	folder := os.Getenv(Screenshots)
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

func (b *Page) setLook(l look) {
	b.Helper()
	b.RunSteps(chromedp.EmulateViewport(l.width, l.height))
	scheme := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, scheme); err != nil {
		b.Fatal(err)
	}
}

// Evaluate returns the value of a JavaScript expression.
func Evaluate[T any](b *Page, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// VisibleText returns the visible text of an element; "" if there is none.
func (b *Page) VisibleText(selector string) string {
	b.Helper()
	return Evaluate[string](b, `document.querySelector(`+"`"+selector+"`"+`)?.innerText ?? ""`)
}

// WantText fails the test unless an element shows a text.
func (b *Page) WantText(selector, text string) {
	b.Helper()
	if got := b.VisibleText(selector); !strings.Contains(got, text) {
		b.Errorf("%s is %q, want %q", selector, got, text)
	}
}

// WantSoon waits until an element shows a text.
func (b *Page) WantSoon(selector, text string) {
	b.Helper()
	if !b.AwaitTrue("(document.querySelector(`" + selector + "`)?.innerText ?? '').includes(`" + text + "`)") {
		b.Errorf("%s is %q, want %q", selector, b.VisibleText(selector), text)
	}
}

// WantFocus waits until an element has the focus.
func (b *Page) WantFocus(id string) {
	b.Helper()
	if !b.AwaitTrue("document.activeElement.id === '" + id + "'") {
		b.Errorf("the focus is at %s, not at %s", Evaluate[string](b, "document.activeElement.outerHTML"), id)
	}
}

// AwaitTrue asks until a JavaScript expression is true, and reports whether it was within patience.
// It asks again after an error, because the browser answers with one while it replaces the page. If
// the expression never becomes true, the log of the test has the last error.
func (b *Page) AwaitTrue(expression string) bool {
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

// Palette has the relative luminance of each colour in a block of custom properties, by its name, as
// WCAG 2.2 defines it.
type Palette map[string]float64

var colour = regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`)

// ReadPalette returns the colours that a part of a style sheet defines.
func ReadPalette(css string) Palette {
	p := Palette{}
	for _, m := range colour.FindAllStringSubmatch(css, -1) {
		p[m[1]] = luminance(m[2])
	}
	return p
}

func luminance(hex string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8) // the pattern has only digits
		if c := float64(n) / 255; c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// Contrast returns the contrast of two colours, from 1 to 21; 0 if the palette lacks one.
func (p Palette) Contrast(text, ground string) float64 {
	a, hasText := p[text]
	b, hasGround := p[ground]
	if !hasText || !hasGround {
		return 0
	}
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// WantContrast fails the test unless a colour has at least the contrast on each ground.
func (p Palette) WantContrast(t *testing.T, least float64, text string, grounds ...string) {
	t.Helper()
	for _, ground := range grounds {
		if got := p.Contrast(text, ground); got < least {
			t.Errorf("%s on %s has the contrast %.2f, want at least %v", text, ground, got, least)
		}
	}
}
