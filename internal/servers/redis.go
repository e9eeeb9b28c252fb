// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// StartRedis starts a Redis of the test's own, with further arguments for
// redis-server, such as "--appendonly", "yes".
func StartRedis(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := must(tb, func() (*Server, error) { return startRedis(args) }, redisProgram, "redis-server", "redis")
	killAtEnd(tb, s)
	return s
}

func redisProgram() (string, error) { return find([]string{"redis-server"}) }

func startRedis(args []string) (*Server, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	folder, err := newFolder("redis", nil)
	if err != nil {
		return nil, err
	}
	return newServer(nil, folder, kind{
		args: func(port int) []string {
			return append([]string{program, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", folder, "--save", ""}, args...)
		},
		check: pingRedis,
	})
}

// pingRedis asks whether a Redis answers with data, which it does not while it
// reads what it has stored. One that wants a password is up.
func pingRedis(ctx context.Context, addr string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(answer, "+PONG") && !strings.HasPrefix(answer, "-NOAUTH") {
		return fmt.Errorf("redis answers %q", strings.TrimSpace(answer))
	}
	return err
}

// DumpRedis returns everything that a Redis holds as text: for each value, hash field and
// member a line, the command that stores it. Arguments of other than printable characters
// are in hexadecimal, after 0x, the others in quotes.
func DumpRedis(tb testing.TB, client redis.UniversalClient) string {
	tb.Helper()
	keys, err := client.Keys(tb.Context(), "*").Result()
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		for _, command := range commandsOf(tb, client, key) {
			for i, arg := range command[1:] {
				command[i+1] = quoteArgument(arg)
			}
			b.WriteString(strings.Join(command, " ") + "\n")
		}
	}
	return b.String()
}

// commandsOf returns the commands that store a key.
func commandsOf(tb testing.TB, client redis.UniversalClient, key string) (commands [][]string) {
	tb.Helper()
	ctx := tb.Context()
	kind, err := client.Type(ctx, key).Result()
	if err == nil {
		switch kind {
		case "string":
			var value string
			value, err = client.Get(ctx, key).Result()
			commands = [][]string{{"SET", key, value}}
		case "hash":
			var fields map[string]string
			fields, err = client.HGetAll(ctx, key).Result()
			for _, field := range slices.Sorted(maps.Keys(fields)) {
				commands = append(commands, []string{"HSET", key, field, fields[field]})
			}
		case "zset":
			var members []redis.Z
			members, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
			for _, m := range members {
				commands = append(commands, []string{"ZADD", key, strconv.FormatFloat(m.Score, 'f', -1, 64), fmt.Sprint(m.Member)})
			}
		default:
			err = fmt.Errorf("the key %q is a %s", key, kind)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return commands
}

func quoteArgument(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == '\uFFFD' }) {
		return "0x" + hex.EncodeToString([]byte(text))
	}
	return strconv.Quote(text)
}

// LoadRedis executes the commands that DumpRedis has listed.
func LoadRedis(tb testing.TB, client redis.UniversalClient, dumped string) {
	tb.Helper()
	for line := range strings.Lines(dumped) {
		var command []any
		for _, word := range regexp.MustCompile(`0x[0-9a-f]*|"(?:[^"\\]|\\.)*"|[A-Z]+`).FindAllString(line, -1) {
			arg, err := word, error(nil)
			if digits, found := strings.CutPrefix(word, "0x"); found {
				var b []byte
				b, err = hex.DecodeString(digits)
				arg = string(b)
			} else if word[0] == '"' {
				arg, err = strconv.Unquote(word)
			}
			if err != nil {
				tb.Fatalf("%s in %q: %v", word, line, err)
			}
			command = append(command, arg)
		}
		if err := client.Do(tb.Context(), command...).Err(); err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
	}
}
