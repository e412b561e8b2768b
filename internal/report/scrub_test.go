package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// scrubCases pairs texts that real exporters, parsers and proxies produce with
// what may be said of them. S3CR3T must never survive.
var scrubCases = []struct{ name, in, want string }{
	{"plain", "connection refused", "connection refused"},
	{"empty", "", ""},
	{"HTTP 401", "traces export: failed to send to http://h:4318/v1/traces: 401 Unauthorized (body: key S3CR3T is wrong)",
		"traces export: failed to send to http://h:4318/v1/traces: 401 Unauthorized (server's text left out)"},
	{"HTTP retryable", "max retry time elapsed: retry-able request failure: body: try S3CR3T\nlater (soon)",
		"max retry time elapsed: retry-able request failure (server's text left out)"},
	{"HTTP body alone", "body: S3CR3T", "(server's text left out)"},
	{"gRPC server text", "traces export: rpc error: code = Unauthenticated desc = key S3CR3T is wrong",
		"traces export: rpc error: code = Unauthenticated (server's text left out)"},
	{"gRPC own text", `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`,
		`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`},
	{"gRPC own text quoting a body", "rpc error: code = Unknown desc = unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected content-type \"S3CR3T\"\ndata: \"S3CR3T\"",
		"rpc error: code = Unknown desc = unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected (server's text left out)"},
	{"gRPC joined", "rpc error: code = Unavailable desc = error reading from server: EOF\nrpc error: code = Internal desc = S3CR3T\nS3CR3T",
		"rpc error: code = Unavailable desc = error reading from server: EOF\nrpc error: code = Internal (server's text left out)"},
	{"gRPC proxy", `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: failed to do connect handshake, response: \"HTTP/1.1 407 S3CR3T\""`,
		`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: failed to do connect handshake (server's text left out)`},
	{"not HTTP", `Post "http://h:1/v1/traces": net/http: HTTP/1.x transport connection broken: malformed HTTP response "S3CR3T \"x\""`,
		`Post "http://h:1/v1/traces": net/http: HTTP/1.x transport connection broken: malformed HTTP response (server's text left out)`},
	{"partial success", "OTLP partial success: bad S3CR3T (9 spans rejected) (3 spans rejected)", "OTLP partial success (3 spans rejected)"},
	{"partial success without count", "OTLP partial success: S3CR3T", "OTLP partial success (server's text left out)"},
	{"user-info", `parse "http://user:S3CR3T@h:4318/x": bad`, `parse "http://h:4318/x": bad`},
	{"token as user", "https://S3CR3T@h", "https://h"},
	{"password with @ and /", "http://u:S3@CR3T/S3CR3T@h:1/p", "http://h:1/p"},
	{"password with a blank", `parse "http://u:S3CR3T S3CR3T@h": invalid character " " in host name`, `parse "http://h": invalid character " " in host name`},
	{"password with a quote", `http://u:S3CR3T"S3CR3T@h`, "http://h"},
	{"two URLs", "http://u:S3CR3T@a then http://u:S3CR3T@b", "http://a then http://b"},
	{"no scheme", "endpoint u:S3CR3T@h:4317 refused", "endpoint h:4317 refused"},
	{"no scheme after =", "X=u:S3CR3T@h", "X=h"},
	{"path with @", "http://h:1/a@v2 and me@example.org", "http://h:1/a@v2 and me@example.org"},
	{"IPv6", "http://[::1]:4317 and http://[::1]/a@b", "http://[::1]:4317 and http://[::1]/a@b"},
	{"authorization", "Authorization: Bearer S3CR3T", "Authorization: [REDACTED]"},
	{"authorization with blanks", "invalid header authorization=Digest a=S3CR3T, b=S3CR3T", "invalid header authorization=[REDACTED]"},
	{"authorization in JSON", `{"Authorization":"Basic S3CR3T==","a":1}`, `{"Authorization":"[REDACTED]","a":1}`},
	{"bearer alone", "got bearer S3CR3T.S3CR3T-x from", "got bearer [REDACTED] from"},
	{"bearer escaped", "a=Bearer%20S3CR3T", "a=Bearer%20[REDACTED]"},
	{"pairs", "api-key=S3CR3T,x-scope=a,X-Honeycomb-Team: S3CR3T", "api-key=[REDACTED],x-scope=a,X-Honeycomb-Team: [REDACTED]"},
	{"pair quoted", `password="S3CR3T, \"S3CR3T\"" rest`, `password=[REDACTED] rest`},
	{"pair in escaped JSON", `{\"api_key\":\"S3CR3T\",\"n\":1}`, `{\"api_key\":[REDACTED],\"n\":1}`},
	{"cookie", "Set-Cookie: a=S3CR3T; b=S3CR3T\nnext", "Set-Cookie: [REDACTED]\nnext"},
	{"environment", "OTLP_TOKEN=S3CR3T", "OTLP_TOKEN=[REDACTED]"},
	{"remedy stays", `lens: OTEL_EXPORTER_OTLP_HEADERS: want key=value`, `lens: OTEL_EXPORTER_OTLP_HEADERS: want key=value`},
	{"rates stay", "tokens_per_second=3 group=step", "tokens_per_second=3 group=step"},
	{"invalid UTF-8", "a\xffb", "a\uFFFDb"},
}

func TestScrub(t *testing.T) {
	t.Parallel()
	for _, c := range scrubCases {
		got := Scrub(c.in)
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if strings.Contains(got, "S3CR3T") {
			t.Errorf("%s: the secret is in %q", c.name, got)
		}
		if again := Scrub(got); again != got {
			t.Errorf("%s: scrubbing again gives %q", c.name, again)
		}
	}
}

func TestScrubBoundsLength(t *testing.T) {
	t.Parallel()
	for _, in := range []string{strings.Repeat("é", 1<<20), strings.Repeat("a b ", 1000), strings.Repeat("x", maxText+1)} {
		got := Scrub(in)
		if len(got) > maxText || !strings.HasSuffix(got, cutMark) || !utf8.ValidString(got) {
			t.Errorf("%d bytes of text: got %d bytes ending in %q", len(in), len(got), got[max(0, len(got)-12):])
		}
	}
	if in := strings.Repeat("x", maxText); Scrub(in) != in {
		t.Error("text of exactly the limit was changed")
	}
}

// panicError panics on a nil receiver, as most error types do.
type panicError struct{ s string }

func (e *panicError) Error() string { return e.s }

func TestErrorText(t *testing.T) {
	t.Parallel()
	var typedNil *panicError
	if got := ErrorText(typedNil); got != "<nil>" {
		t.Errorf("typed nil: %q", got)
	}
	if got := ErrorText(nil); got != "" {
		t.Errorf("nil: %q", got)
	}
}

func TestScrubbed(t *testing.T) {
	t.Parallel()
	if Scrubbed(nil) != nil {
		t.Error("nil became an error")
	}
	if err := Scrubbed(io.EOF); err != io.EOF {
		t.Errorf("an error without secrets was replaced by %v", err)
	}
	err := Scrubbed(fmt.Errorf("token=abc: %w", io.EOF))
	if !errors.Is(err, io.EOF) || err.Error() != "token=[REDACTED] EOF" {
		t.Errorf("got %v", err)
	}
}

// FuzzScrub puts a marked secret into every place Scrub knows, inside arbitrary
// text.
func FuzzScrub(f *testing.F) {
	for _, c := range scrubCases {
		f.Add(c.in, "")
		f.Add("x ", c.in)
	}
	const secret = "Zq9Zq9SECRETZq9"
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, place := range []string{
			"http://user:" + secret + "@host/p",
			"\nAuthorization: Bearer " + secret,
			"\nx-api-key=" + secret,
			" Bearer " + secret,
			"\nfailed to send to http://h: 500 X (body: " + secret,
			"\nretry-able request failure: body: " + secret,
			"\nrpc error: code = Internal desc = " + secret,
		} {
			in := before + place
			// What follows a value may be taken for a part of it and the other
			// way round only where a separator stands between them.
			if !strings.Contains(place, "body: ") && !strings.Contains(place, "desc = ") {
				in += "\n" + after
			}
			got := Scrub(in)
			if strings.Contains(got, secret) {
				t.Errorf("Scrub(%q) = %q", in, got)
			}
			if len(got) > maxText || !utf8.ValidString(got) {
				t.Errorf("Scrub(%q): %d bytes, valid %v", in, len(got), utf8.ValidString(got))
			}
		}
	})
}

func BenchmarkScrub(b *testing.B) {
	in := `traces export: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`
	b.ReportAllocs()
	for b.Loop() {
		Scrub(in)
	}
}
