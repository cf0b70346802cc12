//! `augurfs top`: a mount at work, on a screen of its own.
//!
//! What must stay true: whatever ends it, the terminal is as it was; drawing is a pure function of what was asked last.

mod screen;

use super::stats::report;
use super::words::Place;
use super::{act, complain};
use crate::live::control::Request;
use anyhow::{Context, bail};
use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use screen::Screen;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub(super) struct Top {
    #[command(flatten)]
    place: Place,
    /// Seconds between two looks
    #[arg(short = 'd', value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3600))]
    delay: u32,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Nothing,
    Redraw,
    Quit,
    /// Pause or resume prefetching.
    Toggle,
}

pub(super) fn run(words: &Top) -> anyhow::Result<u8> {
    if !std::io::stdout().is_terminal() {
        bail!("top needs a terminal: elsewhere use stats --watch");
    }
    // Asked before the screen is taken: an error is a sentence on a screen that stays.
    let first = report(&words.place.mountpoint, Request::Glance)?;
    let mut terminal = ratatui::try_init().context("the terminal cannot be used")?;
    let ended = watch(words, &mut terminal, Screen::new(first));
    ratatui::restore();
    if let Some(why) = ended? {
        complain(&why);
    }
    Ok(0)
}

/// Until the user quits (`None`) or the mount goes (why).
fn watch(
    words: &Top,
    terminal: &mut ratatui::DefaultTerminal,
    mut screen: Screen,
) -> anyhow::Result<Option<String>> {
    let delay = Duration::from_secs(words.delay.into());
    let mut next = Instant::now() + delay;
    loop {
        terminal.draw(|frame| screen.draw(frame)).context("the terminal cannot be used")?;
        if event::poll(next.saturating_duration_since(Instant::now())).context("no keys can be read")? {
            match wish(&event::read().context("no keys can be read")?, &mut screen) {
                Wish::Quit => return Ok(None),
                Wish::Toggle => {
                    if let Err(error) = act::set_prefetch(&words.place, !screen.is_on()) {
                        return Ok(Some(format!("{error:#}")));
                    }
                    next = Instant::now();
                }
                Wish::Nothing | Wish::Redraw => continue,
            }
        }
        if Instant::now() >= next {
            match report(&words.place.mountpoint, Request::Glance) {
                Ok(report) => screen.take(report, delay),
                Err(error) => return Ok(Some(format!("{error:#}"))),
            }
            next = Instant::now() + delay;
        }
    }
}

/// The keys of htop, as far as they make sense here.
fn wish(event: &Event, screen: &mut Screen) -> Wish {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else {
        return Wish::Redraw;
    };
    match code {
        KeyCode::Char('q') | KeyCode::F(10) | KeyCode::Esc => return Wish::Quit,
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return Wish::Quit,
        KeyCode::Char('p') => return Wish::Toggle,
        KeyCode::Char('s' | '>' | '.') | KeyCode::F(6) => screen.sort_by_next(),
        KeyCode::Char('I') => screen.turn_around(),
        KeyCode::Char('h' | '?') | KeyCode::F(1) => screen.toggle_help(),
        KeyCode::Down | KeyCode::Char('j') => screen.scroll(1),
        KeyCode::Up | KeyCode::Char('k') => screen.scroll(-1),
        KeyCode::PageDown => screen.scroll(10),
        KeyCode::PageUp => screen.scroll(-10),
        KeyCode::Home => screen.scroll(isize::MIN),
        KeyCode::End => screen.scroll(isize::MAX),
        _ => return Wish::Nothing,
    }
    Wish::Redraw
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Report;

    #[test]
    fn keys_are_those_of_htop() {
        let mut screen = Screen::new(Report::default());
        let press = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let mut of = |code| wish(&press(code, KeyModifiers::NONE), &mut screen);
        assert_eq!([of(KeyCode::Char('q')), of(KeyCode::F(10)), of(KeyCode::Esc)], [Wish::Quit; 3]);
        assert_eq!([of(KeyCode::F(6)), of(KeyCode::F(1)), of(KeyCode::Down)], [Wish::Redraw; 3]);
        assert_eq!([of(KeyCode::Char('I')), of(KeyCode::End)], [Wish::Redraw; 2]);
        assert_eq!([of(KeyCode::Char('p')), of(KeyCode::Char('x'))], [Wish::Toggle, Wish::Nothing]);
        assert_eq!(wish(&press(KeyCode::Char('c'), KeyModifiers::CONTROL), &mut screen), Wish::Quit);
    }
}
