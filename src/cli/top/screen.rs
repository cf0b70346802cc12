//! What `top` shows, as a function of the last reports.

use crate::config::{show_bytes, show_duration};
use crate::stats::{Program, Report, Verdict};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table};
use std::collections::VecDeque;
use std::time::Duration;

/// As many as the widest terminals have columns.
const MOST_RATES: usize = 512;

/// The narrowest screen on which the tables of programs and of requests can be read side by side.
const BESIDE: u16 = 96;

const HELP: &str = "q F10 Esc  quit        s F6  sort by the next column\n\
                    p          pause or resume prefetching\n\
                    up down    scroll      I     the other way round\n\
                    Home End   to an end   h F1  this help";

/// By what programs are sorted, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Opens,
    Hit,
    Partial,
    Miss,
}

/// What is shown.
pub(super) struct Screen {
    report: Report,
    /// Opens, opens that had to wait, and bytes fetched ahead, each a second; the latest first.
    rates: VecDeque<[u64; 3]>,
    sort: Column,
    /// Least first.
    ascending: bool,
    scrolled: usize,
    help: bool,
}

impl Screen {
    pub(super) fn new(report: Report) -> Self {
        Screen {
            report,
            rates: VecDeque::new(),
            sort: Column::Opens,
            ascending: false,
            scrolled: 0,
            help: false,
        }
    }

    /// A report that came `after` the last one.
    pub(super) fn take(&mut self, report: Report, after: Duration) {
        let counts = |it: &Report| [it.opens.total, it.opens.miss + it.opens.partial, it.prefetch.bytes];
        let (old, new) = (counts(&self.report), counts(&report));
        let rate = |i: usize| new[i].saturating_sub(old[i]) / after.as_secs().max(1);
        self.rates.push_front([rate(0), rate(1), rate(2)]);
        self.rates.truncate(MOST_RATES);
        self.report = report;
    }

    pub(super) fn is_on(&self) -> bool {
        self.report.standing.prefetching.active
    }

    pub(super) fn sort_by_next(&mut self) {
        self.sort = match self.sort {
            Column::Opens => Column::Hit,
            Column::Hit => Column::Partial,
            Column::Partial => Column::Miss,
            Column::Miss => Column::Opens,
        };
    }

    pub(super) fn turn_around(&mut self) {
        self.ascending = !self.ascending;
    }

    pub(super) fn toggle_help(&mut self) {
        self.help = !self.help;
    }

    pub(super) fn scroll(&mut self, rows: isize) {
        let last = self.report.programs.len().saturating_sub(1);
        self.scrolled = self.scrolled.saturating_add_signed(rows).min(last);
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let wrong = Verdict::of(&self.report).wrong.len().max(1) as u16;
        let [head, rates, middle, foot] = Layout::vertical([
            Constraint::Length(4 + wrong),
            Constraint::Length(4),
            Constraint::Min(4),
            Constraint::Length(if self.help { HELP.lines().count() as u16 } else { 1 }),
        ])
        .areas(frame.area());
        self.head(frame, head);
        self.sparklines(frame, rates);
        // Where the tables do not fit beside each other, they stand below each other.
        let halves = match middle.width < BESIDE {
            true => Layout::vertical([Constraint::Percentage(40), Constraint::Percentage(60)]),
            false => Layout::horizontal([Constraint::Percentage(58), Constraint::Percentage(42)]),
        };
        let [programs, right] = halves.areas(middle);
        self.programs(frame, programs);
        let [requests, flights] =
            Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(right);
        self.requests(frame, requests);
        self.flights(frame, flights);
        let foot_text =
            if self.help { HELP } else { "q quit  p pause/resume  s sort  arrows scroll  h help" };
        frame.render_widget(Paragraph::new(foot_text).style(Style::new().add_modifier(Modifier::DIM)), foot);
    }

    fn head(&self, frame: &mut Frame<'_>, area: Rect) {
        let (standing, verdict) = (&self.report.standing, Verdict::of(&self.report));
        let up = show_duration(Duration::from_secs(standing.uptime_s));
        let title = format!("{} mirrors {}, for {up}", standing.mountpoint, standing.source);
        let colour = |good: bool| Style::new().fg(if good { Color::Green } else { Color::Yellow });
        let mut lines = vec![
            Line::styled(title, Style::new().add_modifier(Modifier::BOLD)),
            Line::styled(format!("On?     {}", verdict.on), colour(standing.prefetching.active)),
            Line::raw(format!("Saved?  {}", verdict.saved)),
            Line::raw(format!("Cost?   {}", verdict.cost)),
        ];
        let wrong = verdict.wrong.iter().map(|what| Line::styled(format!("Wrong?  {what}"), Color::Red));
        lines.extend(wrong);
        if verdict.wrong.is_empty() {
            lines.push(Line::raw("Wrong?  nothing"));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn sparklines(&self, frame: &mut Frame<'_>, area: Rect) {
        let thirds = Layout::horizontal([Constraint::Ratio(1, 3); 3]).spacing(1).split(area);
        let now = self.rates.front().copied().unwrap_or_default();
        let kinds = [
            (format!("opens/s {}", now[0]), Color::Blue),
            (format!("not in memory/s {}", now[1]), Color::Red),
            (format!("ahead/s {}", show_bytes(now[2])), Color::Green),
        ];
        for (index, (title, colour)) in kinds.into_iter().enumerate() {
            let values: Vec<u64> = self.rates.iter().map(|rates| rates[index]).collect();
            let line = Sparkline::default()
                .block(Block::new().title(title))
                .style(colour)
                .direction(ratatui::widgets::RenderDirection::RightToLeft)
                .data(&values);
            frame.render_widget(line, thirds[index]);
        }
    }

    fn sorted(&self) -> Vec<&Program> {
        let mut programs: Vec<&Program> = self.report.programs.iter().collect();
        let key = |it: &Program| match self.sort {
            Column::Opens => it.opens,
            Column::Hit => it.hit,
            Column::Partial => it.partial,
            Column::Miss => it.miss,
        };
        programs.sort_by_key(|it| std::cmp::Reverse(key(it)));
        if self.ascending {
            programs.reverse();
        }
        programs
    }

    fn programs(&self, frame: &mut Frame<'_>, area: Rect) {
        let number = |value: u64| format!("{value:>7}");
        let rows = self.sorted().into_iter().skip(self.scrolled).map(|it| {
            let counts = [it.opens, it.hit, it.partial, it.miss].map(number);
            let [opens, hit, partial, miss] = counts;
            Row::new([it.name.clone(), opens, hit, partial, miss, format!("  {}", it.pattern)])
        });
        let heads = [Column::Opens, Column::Hit, Column::Partial, Column::Miss];
        let head = heads.map(|column| {
            let name = format!("{column:?}").to_lowercase();
            let mark = if column == self.sort { "*" } else { "" };
            format!("{:>7}", name + mark)
        });
        let head = std::iter::once("program".to_owned()).chain(head).chain(["  pattern".to_owned()]);
        let widths = [12, 8, 8, 8, 8, 15].map(Constraint::Length);
        let mut widths = widths.to_vec();
        widths[0] = Constraint::Min(10);
        widths[5] = Constraint::Max(15);
        let head = Row::new(head).style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_widget(Table::new(rows, widths).header(head).column_spacing(0), area);
    }

    fn requests(&self, frame: &mut Frame<'_>, area: Rect) {
        let mut all: Vec<_> = self.report.requests.iter().collect();
        all.sort_by_key(|(_, times)| std::cmp::Reverse(times.count));
        let rows = all.into_iter().map(|(name, times)| {
            Row::new([
                format!(" {name}"),
                format!("{:>8}", times.count),
                format!("{:>8.1}", times.p50),
                format!("{:>9.1}", times.p99),
            ])
        });
        let widths =
            [Constraint::Min(9), Constraint::Length(8), Constraint::Length(8), Constraint::Length(9)];
        let head =
            Row::new([" request".to_owned(), "   count".into(), "  p50 us".into(), "   p99 us".into()]);
        let head = head.style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_widget(Table::new(rows, widths).header(head).column_spacing(0), area);
    }

    fn flights(&self, frame: &mut Frame<'_>, area: Rect) {
        let flights = &self.report.flights;
        let title = format!(" on their way: {}", show_bytes(self.report.prefetch.in_flight_bytes));
        let head = Style::new().add_modifier(Modifier::REVERSED);
        let mut lines = vec![Line::styled(format!("{title:<width$}", width = usize::from(area.width)), head)];
        // The last changes come first: there is room for some of them at least.
        let changes = self.report.standing.own_cache.iter().flat_map(|own| own.changes.iter().rev().take(3));
        lines.extend(changes.map(|change| Line::raw(format!(" {change}"))));
        lines.extend(flights.iter().map(|file| Line::raw(format!(" {file}"))));
        frame.render_widget(Paragraph::new(lines), area);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Choice, Opens};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn report(opens: u64) -> Report {
        let mut report = Report::default();
        report.standing.mountpoint = "/mnt/doc".into();
        report.standing.prefetching = Choice { active: true, reason: "the engine runs".into() };
        report.standing.model.path = Some("/m".into());
        report.opens = Opens { total: opens, hit: opens, ..Opens::default() };
        let program =
            |name: &str, opens, miss| Program { name: name.into(), opens, miss, ..Program::default() };
        let looping = Program { pattern: "looping".into(), ..program("cc1", 90, 1) };
        report.programs = vec![looping, program("grep", 10, 9)];
        report.flights = vec!["src/next.c".into()];
        report
    }

    fn shown(screen: &Screen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_screen_shows_programs_flights_and_rates() {
        let mut screen = Screen::new(report(0));
        screen.take(report(500), Duration::from_secs(5));
        let text = shown(&screen, 100, 24);
        for word in [
            "/mnt/doc mirrors",
            "On?     yes",
            "opens/s 100",
            "cc1",
            "looping",
            "opens*",
            "src/next.c",
            "q quit",
        ] {
            assert!(text.contains(word), "{word}\n{text}");
        }
    }

    #[test]
    fn a_narrow_screen_cuts_no_number() {
        let mut report = report(1);
        let times = crate::stats::RequestTimes { count: 1_234_567, p50: 184.3, p99: 1851.4 };
        report.requests.insert("readdirplus".into(), times);
        let text = shown(&Screen::new(report), 60, 24);
        for word in ["partial", "miss", " 90 ", "1234567", "184.3", "1851.4", "p99 us", "src/next.c"] {
            assert!(text.contains(word), "{word}\n{text}");
        }
    }

    #[test]
    fn sorting_and_scrolling_change_what_comes_first() {
        let mut screen = Screen::new(report(1));
        assert_eq!(screen.sorted()[0].name, "cc1");
        (0..3).for_each(|_| screen.sort_by_next());
        assert_eq!(screen.sorted()[0].name, "grep");
        screen.scroll(5);
        let text = shown(&screen, 100, 24);
        assert!(!text.contains("grep") && text.contains("cc1"), "{text}");
        screen.scroll(isize::MIN);
        assert_eq!(screen.scrolled, 0);
        screen.turn_around();
        assert_eq!(screen.sorted()[0].name, "cc1");
    }

    #[test]
    fn no_terminal_is_too_small() {
        for (width, height) in [(1, 1), (20, 5), (40, 10), (300, 80)] {
            let mut screen = Screen::new(report(1));
            screen.toggle_help();
            shown(&screen, width, height);
        }
    }
}
