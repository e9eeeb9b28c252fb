// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Console is one run of a command.
type Console struct {
	Streams
	Name string // of the command, before errors
	JSON bool   // as the flag --json says

	streams                 Streams // as they were given
	inTerminal, outTerminal bool
	errTerminal             *os.File // nil if errors do not go to a terminal
	control                 *os.File // the terminal of the process, once it was needed
}

// NewConsole returns the console of a run with arguments. What is written to
// its streams is escaped.
func NewConsole(name string, args []string, streams Streams) *Console {
	c := &Console{Streams: streams, Name: name, JSON: asksForJSON(args), streams: streams}
	c.inTerminal, c.outTerminal, c.errTerminal = terminalOf(streams.In) != nil, terminalOf(streams.Out) != nil, terminalOf(streams.Err)
	c.Out, c.Err = Escaping(streams.Out, &c.JSON), Escaping(streams.Err, &c.JSON)
	return c
}

// asksForJSON looks for --json before flags are parsed: what is wrong with them
// is JSON then, too.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// Result is what a command found or did: a JSON object, and lines for people.
type Result interface {
	Lines() []string
}

// Write writes a result: its JSON on one line with --json, else its text.
func (c *Console) Write(r Result) error {
	if c.JSON {
		enc := json.NewEncoder(c.Out)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	var text strings.Builder
	for _, line := range r.Lines() {
		text.WriteString(Flat(line) + "\n")
	}
	_, err := io.WriteString(c.Out, text.String())
	return err
}

// Fail reports an error, and returns its exit code.
func (c *Console) Fail(err error, code int) int {
	if c.JSON {
		report := struct {
			Error string `json:"error"`
			Exit  int    `json:"exit"`
		}{err.Error(), code}
		_ = json.NewEncoder(c.Err).Encode(report)
	} else {
		fmt.Fprintln(c.Err, c.Name+":", indented(err.Error()))
	}
	return code
}

// indented returns a text in which no line after the first one can be taken for
// a line of its own.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// Each calls do with each argument or, where there is none or it is "-", with
// each line of the input that is not blank.
func (c *Console) Each(args []string, do func(word string) error) error {
	if len(args) > 0 && (len(args) > 1 || args[0] != "-") {
		for _, word := range args {
			if err := do(word); err != nil {
				return err
			}
		}
		return nil
	}
	lines := bufio.NewScanner(c.In)
	for lines.Scan() {
		if word := strings.TrimSpace(lines.Text()); word != "" {
			if err := do(word); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the input: %w", err)
	}
	return nil
}

// Logger returns the logger for events while a command runs. It writes where errors go, in
// their format.
func (c *Console) Logger() *slog.Logger {
	if c.JSON {
		return slog.New(slog.NewJSONHandler(c.Err, nil))
	}
	return slog.New(slog.NewTextHandler(c.Err, nil))
}

// Fields formats names and values as two columns, a line each.
func Fields(pairs ...any) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(w, "%v\t%v\n", pairs[i], pairs[i+1])
	}
	_ = w.Flush() // to memory
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// terminalOf returns the terminal that a stream is; nil if it is none.
func terminalOf(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Interactive reports whether a person can be asked: the input is a terminal, and the
// results are not JSON for a program.
func (c *Console) Interactive() bool {
	return !c.JSON && c.inTerminal && c.questions() != nil
}

// questions returns the terminal for questions: that of the errors or, if these are
// redirected, the one that controls the process. It is nil if there is none.
func (c *Console) questions() *os.File {
	if c.errTerminal != nil {
		return c.errTerminal
	}
	if c.control == nil {
		f, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
		if err != nil {
			return nil
		}
		c.control = f // it is open as long as the process
	}
	return c.control
}

// ReadsTerminal reports whether the input is a terminal.
func (c *Console) ReadsTerminal() bool { return c.inTerminal }

// WritesTerminal reports whether the results go to a terminal.
func (c *Console) WritesTerminal() bool { return c.outTerminal }

// Raw returns where results go, without escapes: for data that are bytes.
func (c *Console) Raw() io.Writer { return c.streams.Out }

// Terminals returns the terminal that a person types on, and the one for questions. Call it
// on an interactive console.
func (c *Console) Terminals() (in, out *os.File) { return terminalOf(c.streams.In), c.questions() }

// Again returns a console with the same streams for another run. Its input comes from in,
// through which this console's input is read.
func (c *Console) Again(args []string, in io.Reader) *Console {
	next := NewConsole(c.Name, args, Streams{In: in, Out: c.streams.Out, Err: c.streams.Err})
	next.JSON = next.JSON || c.JSON
	next.inTerminal, next.control = c.inTerminal, c.control
	return next
}

// TokenFlag is the flag with which a verb goes on where a run of it has ended.
const TokenFlag = "token"

// AddToken adds the flag --token to a verb that calls [Console.WriteNext].
func AddToken(cmd *cobra.Command, token *string) {
	cmd.Flags().StringVar(token, TokenFlag, "", "go on where the run ended that wrote this `token`")
}

// WriteNext says that a verb has more to show or to do, and with which --token the same
// command goes on: in a line of its own on the error output, where it is not a result. With
// --json the line is the object {"next": token}.
func (c *Console) WriteNext(token string) error {
	if c.JSON {
		return json.NewEncoder(c.Err).Encode(map[string]string{"next": token})
	}
	_, err := fmt.Fprintf(c.Err, "there is more: --%s %s\n", TokenFlag, token)
	return err
}
