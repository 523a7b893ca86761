package simulator

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"
)

// ControlPath is where the control surface begins; it needs no token.
const ControlPath = "/_simulator/"

const (
	metadataPath = "/metadata/"
	defaultTeam  = "default"
	// firstDropletID has the nine digits of today's droplets.
	firstDropletID = 500_000_000
	firstActionID  = 2_000_000_000
	firstKeyID     = 40_000_000
)

// Simulator is one DigitalOcean, with any number of teams. Its methods may be
// called concurrently, also while it serves.
type Simulator struct {
	clock   clock.PassiveClock
	api     *router
	control *router

	// mu guards everything below; it is never held while an answer is written
	// or delayed.
	mu       sync.Mutex
	settings Settings
	// tokens maps each known token to its owner; empty: every token is accepted.
	tokens    map[string]owner
	homeTeam  string
	teams     map[string]*team
	teamOrder []string
	limits    map[string]*rateWindow
	faults    faultSet
	log       requestLog
	catalog   *catalog
	addresses *addressBook

	ids           idSource
	requestIDs    idSource
	lastDropletID int
	lastActionID  int
	lastKeyID     int
	// running lists the droplet actions that have not completed, so that the
	// usual case, none, costs nothing.
	running []*action
	history history
}

var _ http.Handler = (*Simulator)(nil)

// New returns an empty simulator: no droplets, no load balancers. Without
// options it accepts every token, objects are ready at once, and the rate
// limits are the API's own: 5,000 requests an hour and 250 a minute per token.
func New(opts ...Option) *Simulator {
	c := config{clock: clock.RealClock{}, seed: 1, settings: defaultSettings()}
	for _, opt := range opts {
		opt(&c)
	}
	s := &Simulator{
		clock:         c.clock,
		settings:      c.settings,
		tokens:        map[string]owner{},
		homeTeam:      defaultTeam,
		teams:         map[string]*team{},
		limits:        map[string]*rateWindow{},
		catalog:       newCatalog(),
		addresses:     newAddressBook(),
		ids:           newIDSource(c.seed, "objects"),
		requestIDs:    newIDSource(c.seed, "requests"),
		lastDropletID: firstDropletID,
		lastActionID:  firstActionID,
		lastKeyID:     firstKeyID,
	}
	s.faults = newFaultSet(c.seed)
	for i, t := range c.tokens {
		s.tokens[t.token] = owner{t.team, t.scopes}
		if i == 0 {
			s.homeTeam = t.team
		}
	}
	for _, f := range c.faults {
		s.faults.add(f)
	}
	s.lagChanged()
	s.api = newAPIRouter()
	s.control = newControlRouter()
	return s
}

// ServeHTTP serves the API, the metadata service, the control surface and, to
// browsers, the console.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, page := consoleFile(r)
	switch {
	case page != nil:
		serveConsole(w, r, name, page)
	case strings.HasPrefix(r.URL.Path, ControlPath):
		s.serveControl(w, r)
	case strings.HasPrefix(r.URL.Path, metadataPath):
		s.serveMetadata(w, r)
	default:
		s.serveAPI(w, r)
	}
}

// now is the simulated time in UTC. The lock must be held where the result
// decides about state, so that time does not run backwards between requests.
func (s *Simulator) now() time.Time { return s.clock.Now().UTC() }

// lock takes the lock to change something and brings everything that depends on
// time up to date.
func (s *Simulator) lock() time.Time {
	now := s.look()
	s.mark(now)
	return now
}

// look is lock for those who only read what lists show.
func (s *Simulator) look() time.Time {
	s.mu.Lock()
	now := s.now()
	s.remember(now)
	s.settleActions(now)
	return now
}

// idSource makes random UUIDs that are the same for the same seed.
type idSource struct {
	random *rand.ChaCha8
}

func newIDSource(seed int64, purpose string) idSource {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], uint64(seed))
	copy(key[8:], purpose)
	return idSource{rand.NewChaCha8(key)}
}

func (i idSource) next() string {
	id, err := uuid.NewRandomFromReader(i.random)
	if err != nil {
		// ChaCha8 never fails to read.
		panic(fmt.Sprintf("make an id: %v", err))
	}
	return id.String()
}
