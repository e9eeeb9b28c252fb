// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

func (v *visit) seeSizes() {
	v.openView("sizes", "Sizes")
	v.WantSoon(".treemap", "tenants")
	v.CheckPage("sizes")
	v.checkMapWidth()
	v.RunSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector('.tile[href*="p=tenants"]').focus()`))
	v.PressKeys(kb.Enter)
	v.WantSoon("h1", "Sizes in tenants")
	v.WantSoon(".treemap", "tenant-1")
	v.RunSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector('.tile').focus()`))
	before := v.VisibleText(".tile:focus")
	v.PressKeys(kb.ArrowRight)
	if after := v.VisibleText(".tile:focus"); after == before {
		v.Errorf("the arrow stays at %s", after)
	}
	v.PressKeys(kb.Backspace)
	if !v.AwaitTrue("document.querySelector('h1').textContent === 'Sizes'") {
		v.Error("Backspace does not zoom out")
	}
}

// checkMapWidth checks that the map follows the width of the page, and that its tiles do not widen
// the page before they are drawn again.
func (v *visit) checkMapWidth() {
	v.Helper()
	if !v.AwaitTrue("Math.abs(Math.max(...[...document.querySelectorAll('.tile')].map(t => t.getBoundingClientRect().right)) - document.querySelector('.treemap').getBoundingClientRect().right) < 4") {
		v.Error("the map does not follow the width of the page")
	}
	// In one script, since the page draws the map again in the next frame.
	narrow := `(() => {
		const {style} = document.querySelector('.treemap'), {documentElement: page} = document;
		style.marginInlineStart = '50%';
		const wider = page.scrollWidth - page.clientWidth;
		style.marginInlineStart = '';
		return wider;
	})()`
	if wider := browsertest.Evaluate[int](v.Page, narrow); wider > 0 {
		v.Errorf("the tiles of a wider map make the page %d pixels wider", wider)
	}
}
