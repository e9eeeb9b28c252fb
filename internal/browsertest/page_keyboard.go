// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

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
