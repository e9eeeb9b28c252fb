// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"context"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

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
