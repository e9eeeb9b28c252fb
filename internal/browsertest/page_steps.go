// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"context"

	"github.com/chromedp/chromedp"
)

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

// OpenPage opens a page, whose address is relative to Base.
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
