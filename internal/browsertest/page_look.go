// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

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
