// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/studio"
)

// uiFlags are the flags of the verb.
type uiFlags struct {
	listen string
	hosts  []string
	write  bool
	open   bool
}

// uiCommand returns kazahana ui.
func uiCommand(c *shell.Console) *cobra.Command {
	var f uiFlags
	cmd := &cobra.Command{
		Use: "ui", Short: "Serve a page that shows a database", Args: shell.Arguments(cobra.NoArgs),
		Long: `Serve a page that shows a database: directories, tenants, records and their entries, indexes,
schemas, changes, leases, sizes, metrics, and the health of a cluster. The command writes the link
that opens the page, and serves it until it is interrupted.

The link has a token, which changes with each start. The page reads only, unless --write is given;
then it also saves and deletes records, builds, repairs and drops indexes, and locks and removes
tenants. Without another --listen only programs on this machine reach it.

An embedded database is open by one process at a time: while the page is served, no program can
open the folder, and the command does not start while a program has it open. Then let the program
serve the page itself (package persistable/studio). A cluster may be shown while programs use it.

The page also serves the database to other commands: --attach with its URL, and its token in
KAZAHANA_ATTACH_TOKEN.
` + database.About,
		Example: "  kazahana ui --db data\n  kazahana ui --cluster-file fdb.cluster --listen 127.0.0.1:4711 --open",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return database.Open(cmd, f.write, func(ctx context.Context, db *persistable.DB) error { return f.serve(ctx, c, cmd, db) })
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.listen, "listen", "127.0.0.1:0", "serve at this `address`; port 0: a free one")
	set.StringArrayVar(&f.hosts, "host", nil, "also answer requests to this `host:port`, for an address that is not this machine's loopback")
	set.BoolVar(&f.write, "write", false, "let the page change the database")
	set.BoolVar(&f.open, "open", false, "open the page in the browser")
	return cmd
}

// linkResult is where the page is.
type linkResult struct {
	Link  string `json:"link"`
	Write bool   `json:"write"`
}

// Lines implements [shell.Result].
func (l linkResult) Lines() []string { return []string{l.Link} }

// serve serves the page until ctx ends.
func (f *uiFlags) serve(ctx context.Context, c *shell.Console, cmd *cobra.Command, db *persistable.DB) error {
	at, err := database.NewSession(cmd)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return shell.Invalid(fmt.Errorf("--listen: %w", err))
	}
	address := listener.Addr().(*net.TCPAddr)
	pages, err := studio.New(db, studio.Options{
		Token: access.NewToken(), Hosts: append(f.hosts, reachable(address)...), Database: at.String(), Remedy: at.Remedy(), Write: f.write,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer pages.Close()
	if !address.IP.IsLoopback() {
		c.Logger().Warn("other machines reach the page, over HTTP without encryption: a program that sees the link or its traffic can "+ability(f.write)+" the database", "address", address.String())
	}
	link := pages.Link("http://" + shownAddress(address) + "/")
	if err := c.Write(linkResult{link, f.write}); err != nil {
		return errors.Join(err, listener.Close())
	}
	if f.open {
		go func() { // the command that opens it may last as long as the browser
			if err := openBrowser(ctx, link); err != nil && ctx.Err() == nil {
				c.Logger().Warn("no browser was opened: follow the link", "error", err)
			}
		}()
	}
	return serveUntil(ctx, listener, pages)
}

func ability(write bool) string {
	if write {
		return "read and change"
	}
	return "read"
}

// How long a request's header may take, a connection may be open without a request, and the
// requests that are under way may take when the command ends.
const (
	headerWithin = 10 * time.Second
	idleWithin   = 2 * time.Minute
	endWithin    = 5 * time.Second
)

// newPageServer returns a server without a bound on the time of an answer, since streams last.
func newPageServer(pages http.Handler) *http.Server {
	return &http.Server{Handler: pages, ReadHeaderTimeout: headerWithin, IdleTimeout: idleWithin}
}

// serveUntil serves until ctx ends, and then ends in order.
func serveUntil(ctx context.Context, listener net.Listener, pages *studio.Handler) error {
	server := newPageServer(pages)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	pages.Close() // it ends streams, which a shutdown would wait for
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		return errors.Join(err, server.Close())
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// reachable returns the values of the header Host with which other machines reach an address; nil
// for loopback, which needs none.
func reachable(a *net.TCPAddr) (hosts []string) {
	port := strconv.Itoa(a.Port)
	switch {
	case a.IP.IsLoopback():
		return nil
	case !a.IP.IsUnspecified():
		return []string{net.JoinHostPort(a.IP.String(), port)}
	}
	all, _ := net.InterfaceAddrs() // without them, --host names the hosts
	for _, one := range all {
		if n, ok := one.(*net.IPNet); ok {
			hosts = append(hosts, net.JoinHostPort(n.IP.String(), port))
		}
	}
	return hosts
}

// shownAddress returns the address that the link has: that of this machine for one that stands for all.
func shownAddress(a *net.TCPAddr) string {
	if a.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(a.Port))
	}
	return a.String()
}

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
