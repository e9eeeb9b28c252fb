// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// redirection is a page that leads to the link. The browser is given its file rather than the link,
// since every user of the machine sees the arguments of programs.
const redirection = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s"><title>Kazahana</title></html>`

// keepFor is how long the file of the redirection is kept: until the browser has read it.
const keepFor = 30 * time.Second

// openBrowser opens the link in the user's browser, and waits for the command that does.
func openBrowser(ctx context.Context, link string) error {
	file, err := os.CreateTemp("", "kazahana-ui-*.html") // its owner alone may read it
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, redirection, html.EscapeString(link))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	remove := func() { _ = os.Remove(file.Name()) } // it is in the folder for temporary files
	if err != nil {
		remove()
		return err
	}
	time.AfterFunc(keepFor, remove)
	context.AfterFunc(ctx, remove)
	return opener(ctx, file.Name()).Run()
}

// opener returns the command that opens a file as a click on it does.
func opener(ctx context.Context, file string) *exec.Cmd {
	switch runtime.GOOS {
	case "darwin":
		return exec.CommandContext(ctx, "open", file)
	case "windows":
		return exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", file)
	}
	return exec.CommandContext(ctx, "xdg-open", file)
}
