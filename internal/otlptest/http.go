package otlptest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
)

const protobufType = "application/x-protobuf"

func (s *Server) newHTTPServer() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // handshakes that tests let fail
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.active(1)
			case http.StateClosed, http.StateHijacked:
				s.active(-1)
			}
		},
	}
}

func (s *Server) active(delta int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.httpActive += delta
	s.changed()
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	s.active(1)
	defer s.active(-1)

	req := &Request{
		Signal: s.set.paths[r.URL.Path], Protocol: HTTP, Path: r.URL.Path,
		Header: r.Header.Clone(), Encoding: r.Header.Get("Content-Encoding"), Remote: r.RemoteAddr,
	}
	req.Header.Set("Host", r.Host)
	msg := newPayload(req.Signal)
	refusal := s.readHTTP(w, r, req, msg)
	if refusal == nil {
		req.Items = countItems(msg)
	}
	s.record(req)
	if refusal != nil {
		s.conclude(req, refusal.outcome)
		refusal.write(w)
		return
	}
	ans := s.take(r.Context(), req, msg)
	if ans.outcome == Reset || ans.outcome == Abandoned {
		panic(http.ErrAbortHandler)
	}
	ans.write(w)
}

// readHTTP reads and decodes the body of r into msg and the sizes into req, or says why not.
func (s *Server) readHTTP(w http.ResponseWriter, r *http.Request, req *Request, msg proto.Message) *answer {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.set.httpLimit)))
	req.WireSize, req.Size = len(body), len(body)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		req.Size, req.WireSize = 0, 0
		return &answer{outcome: TooLarge, status: http.StatusRequestEntityTooLarge, text: err.Error()}
	case err != nil:
		return &answer{outcome: Abandoned, status: http.StatusBadRequest, text: err.Error()}
	case req.Signal == "":
		return &answer{outcome: Unknown, status: http.StatusNotFound, text: "404 page not found"}
	case r.Method != http.MethodPost:
		return &answer{outcome: Invalid, status: http.StatusMethodNotAllowed, text: "want POST, got " + r.Method}
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != protobufType {
		return &answer{
			outcome: Invalid, status: http.StatusUnsupportedMediaType,
			text: fmt.Sprintf("want Content-Type %s, got %q", protobufType, r.Header.Get("Content-Type")),
		}
	}
	switch req.Encoding {
	case "":
	case "gzip":
		body, err = inflate(body, s.set.httpLimit)
		if err != nil {
			ans := invalid(err)
			return &ans
		}
		req.Size = len(body)
		if len(body) > s.set.httpLimit {
			req.Size = 0
			return &answer{outcome: TooLarge, status: http.StatusRequestEntityTooLarge, text: "http: request body too large"}
		}
	default:
		return &answer{outcome: Invalid, status: http.StatusUnsupportedMediaType, text: "want Content-Encoding gzip or none"}
	}
	if err := proto.Unmarshal(body, msg); err != nil {
		ans := invalid(err)
		return &ans
	}
	return nil
}

// inflate decompresses to at most limit+1 bytes, so that the caller sees an excess.
func inflate(body []byte, limit int) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(zr, int64(limit)+1))
}

// write answers over HTTP.
func (a answer) write(w http.ResponseWriter) {
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	if a.retryAfter > 0 {
		seconds := (a.retryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	body := []byte(a.text)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if a.reply != nil {
		w.Header().Set("Content-Type", protobufType)
		body, _ = proto.Marshal(a.reply) // a fixed type without text from outside but the test's own
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}
